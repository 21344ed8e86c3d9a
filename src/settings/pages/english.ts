/** All texts of the settings area. */
export const english = {
  area: 'Tidemark settings',
  languageSwitch: 'Language',
  signOut: 'Sign out',
  signedInFor: (team: string) => `Team ${team}`,
  utc: (date: string) => `${date} UTC`,
  backToKeys: 'Back to the keys',
  keys: {
    title: 'Account keys',
    about:
      'A key lets a script or a dashboard read all forms and submissions of your team through the API, and nothing else.',
    slots: (held: number, max: number) => `${held} of ${max}`,
    slotsRule: 'Revoked keys count until they are deleted.',
    listTitle: 'Keys of the team',
    none: { title: 'No keys yet', text: 'Create the first one, and give it to the program that reads your data.' },
    states: { active: 'Active', expired: 'Expired', revoked: 'Revoked' },
    start: 'Begins with',
    created: 'Created',
    createdBy: (who: string) => `by ${who}`,
    lastUsed: 'Last used',
    neverUsed: 'No use seen so far',
    expires: 'Expires',
    expired: 'Expired',
    neverExpires: 'Never',
    revoked: 'Revoked',
    revoke: 'Revoke',
    revokeNamed: (name: string) => `Revoke ${name}`,
    delete: 'Delete',
    deleteNamed: (name: string) => `Delete ${name}`,
  },
  create: {
    title: 'Create a key',
    name: 'Name',
    nameHint: 'What uses the key, such as “Nightly export”. At most 100 characters.',
    expires: 'Expires (optional)',
    expiresHint: 'The key works until the end of this day, UTC.',
    submit: 'Create key',
    full: {
      title: 'All ten slots are taken',
      text: 'A team holds ten keys at most, revoked ones included. Delete one that nothing uses any more to free its slot.',
    },
    problemsTitle: 'The key was not created',
    problems: {
      name: 'Enter a name of 1 to 100 characters.',
      expires: 'Choose today or a later day, or leave it empty.',
      deleted: 'No key was created. Please try again.',
      unfinished:
        'It is not certain yet whether the key was created. Trying again from here is safe: it completes the same key and never makes a second one.',
    },
  },
  rotation: {
    title: 'Replacing a key without a gap',
    steps: [
      'Create a second key; both work side by side.',
      'Give the new key to everything that uses the old one.',
      'Watch “Last used” of the old key. If it has not changed for longer than the interval of your slowest job, nothing uses the old key any more.',
      'Revoke the old key. If nothing breaks, delete it to free its slot.',
    ],
  },
  created: {
    title: (name: string) => `Key “${name}” created`,
    once: 'This is the only time the key is shown. Copy it now.',
    label: 'The key',
    copy: 'Copy',
    copied: 'Copied',
    notCopied: 'Not copied: select the key and copy it yourself',
    care: 'Treat it as a password: keep it in a secret store, out of source control, chats and tickets. Whoever has it reads all forms and submissions of the team.',
    use: 'Send it with every request, as this header:',
    done: 'I have stored it, back to the keys',
  },
  shownAlready: {
    title: (name: string) => `Key “${name}” was shown already`,
    texts: [
      'This form has created the key before; no second one was made. A key is shown once, and nobody can show it again.',
      'If it was not stored, revoke it or delete it, and create another one.',
    ],
  },
  confirmRevoke: {
    title: (name: string) => `Revoke “${name}”?`,
    effects: [
      'Every integration that uses it gets 401 from the next request on.',
      'It cannot be made active again, and it keeps its slot until it is deleted.',
    ],
    submit: 'Revoke key',
  },
  confirmDelete: {
    title: (name: string) => `Delete “${name}”?`,
    effects: [
      'Every integration that uses it gets 401 from the next request on.',
      'It frees its slot, and it cannot be undone.',
    ],
    submit: 'Delete key',
  },
  cancel: 'Cancel',
  notices: {
    revoked: 'The key is revoked and no longer works.',
    deleted: 'The key is deleted and its slot is free.',
  },
  newLink: 'Get a new link',
  signedOut: {
    title: 'You are signed out',
    text: 'Open the settings area from the product to come back.',
  },
  errors: {
    'link-expired': {
      title: 'This link has expired',
      text: 'A link to the settings area is good for a few minutes. Open the settings area from the product again.',
    },
    'link-used': {
      title: 'This link was used already',
      text: 'A link to the settings area works once. Open the settings area from the product again.',
    },
    'not-owner': {
      title: 'Only an owner of the team can manage its keys',
      text: 'Ask an owner of the team to do it, or to make you an owner.',
    },
    'link-not-valid': {
      title: 'This link is not valid',
      text: 'It may have been cut short on its way. Open the settings area from the product again.',
    },
    'no-session': {
      title: 'You are not signed in',
      text: 'Open the settings area from the product. You stay signed in for 15 minutes.',
    },
    'foreign-form': {
      title: 'Nothing was changed',
      text: 'This request did not come from a current page of the settings area. Open the page again and repeat it there.',
    },
    'not-found': { title: 'There is nothing here', text: 'The page does not exist, or the key is gone.' },
    'method-not-allowed': { title: 'That is not possible here', text: 'This page does not accept such a request.' },
    'form-too-large': { title: 'That is too much', text: 'The form holds more than it may. Nothing was changed.' },
    'no-form': {
      title: 'This is not a form',
      text: 'This page accepts only the forms of the settings area. Nothing was changed.',
    },
    'change-incomplete': {
      title: 'Not finished yet',
      text: 'A key that was being revoked or deleted no longer works, but that is not recorded for good yet. Try again in a moment; trying again is safe and completes it.',
    },
    unavailable: {
      title: 'The keys cannot be reached just now',
      text: 'Nothing is lost. Try again in a few seconds; trying again is safe.',
    },
    'internal-error': {
      title: 'Something went wrong',
      text: 'This is a fault of ours. Try again; if it happens again, give support the number below.',
    },
  },
}

export type Messages = typeof english
