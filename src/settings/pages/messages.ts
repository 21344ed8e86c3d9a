/** A title and the text under it. */
export type Notice = { readonly title: string; readonly text: string }

/** All texts of the settings area in one language. */
export type Messages = {
  readonly area: string
  readonly languageSwitch: string
  readonly signOut: string
  readonly signedInFor: (team: string) => string
  readonly utc: (date: string) => string
  readonly backToKeys: string
  readonly keys: {
    readonly title: string
    readonly about: string
    readonly slots: (held: number, max: number) => string
    readonly slotsRule: string
    readonly listTitle: string
    readonly none: Notice
    readonly states: Readonly<Record<'active' | 'expired' | 'revoked', string>>
    readonly start: string
    readonly created: string
    readonly createdBy: (who: string) => string
    readonly lastUsed: string
    readonly neverUsed: string
    readonly expires: string
    readonly expired: string
    readonly neverExpires: string
    readonly revoked: string
    readonly revoke: string
    readonly revokeNamed: (name: string) => string
    readonly delete: string
    readonly deleteNamed: (name: string) => string
  }
  readonly create: {
    readonly title: string
    readonly name: string
    readonly nameHint: string
    readonly expires: string
    readonly expiresHint: string
    readonly submit: string
    readonly full: Notice
    readonly problemsTitle: string
    readonly problems: Readonly<Record<'name' | 'expires', string>>
    readonly wasDeleted: string
    readonly unfinished: string
  }
  readonly rotation: { readonly title: string; readonly steps: readonly string[] }
  readonly created: {
    readonly title: (name: string) => string
    readonly once: string
    readonly label: string
    readonly copy: string
    readonly copied: string
    readonly notCopied: string
    readonly care: string
    readonly use: string
    readonly done: string
  }
  readonly shownAlready: { readonly title: (name: string) => string; readonly texts: readonly string[] }
  readonly confirmRevoke: Confirmation
  readonly confirmDelete: Confirmation
  readonly cancel: string
  readonly notices: Readonly<Record<'revoked' | 'deleted', string>>
  readonly signInRefused: Readonly<Record<'expired' | 'used' | 'not-owner' | 'not-valid', Notice>>
  readonly newLink: string
  readonly noSession: Notice
  readonly signedOut: Notice
  readonly foreignForm: Notice
  readonly notFound: Notice
  readonly methodNotAllowed: Notice
  readonly formTooLarge: Notice
  readonly noForm: Notice
  readonly changeIncomplete: Notice
  readonly unavailable: Notice
  readonly internalError: Notice
}

type Confirmation = {
  readonly title: (name: string) => string
  readonly effects: readonly string[]
  readonly submit: string
}
