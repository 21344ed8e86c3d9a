import type { Counts, World } from './world.ts'

const dayMs = 86_400_000

export type Served = {
  readonly baseUrl: string
  readonly teams: readonly (World['teams'][number] & Counts & { readonly key: string })[]
  /** A form of the first team. */
  readonly formId: string
  readonly nowMs: number
}

/** Printed when the demo is ready; `settingsLink` signs in to the settings area as an owner of the first team. */
export const renderPage = (running: Served & { readonly settingsLink: string }): string =>
  [
    '',
    ...addresses(running),
    `Settings  ${running.settingsLink}`,
    `          as an owner of ${running.teams[0]?.name}; works once, for five minutes; "npm run sign-in" prints another one`,
    ...keys(running),
    '',
    'The newest submissions; new ones come every second, and their reports are finished seconds later:',
    ...requests(running),
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n')

export const renderSamplePage = (served: Served): string =>
  ['', ...addresses(served), ...keys(served), '', 'The newest submissions:', ...requests(served), ''].join('\n')

const addresses = ({ baseUrl }: Served): string[] => [`Base URL  ${baseUrl}`, `Docs      ${new URL('/docs', baseUrl)}`]

const keys = ({ teams }: Served): string[] =>
  teams.map(({ key, name, forms, submissions }) => {
    const size = `${forms} forms, ${submissions.toLocaleString('en')} submissions`
    return `Key       ${key}  ${name}: ${size}`
  })

/** A request to paste as it is, then more requests that use `$KEY`. */
function requests({ baseUrl, teams: [first], formId, nowMs }: Served): string[] {
  const day = (daysAgo: number): string => new Date(nowMs - daysAgo * dayMs).toISOString().slice(0, 10)
  const curl = (query: string, flags = '-s'): string =>
    `curl ${flags} -H "Authorization: Bearer $KEY" "${baseUrl}/${query}"`
  const more: readonly [what: string, line: string][] = [
    ['A form title, in spite of a typo', curl('forms?titleContains=data%20protecion')],
    ['Reports that failed', curl('records?status=failed&limit=5')],
    ['Submissions of one week, second page', curl(`records?since=${day(7)}&until=${day(1)}&limit=5&page=2`)],
    [
      'One form without its questions and its report settings',
      curl(`forms/${formId}?includeFields=false&includeReport=false`),
    ],
    ['How fresh an answer is: see Replica-Watermark', curl('records?limit=1', '-si')],
  ]
  return [
    `  curl -s -H "Authorization: Bearer ${first?.key}" "${baseUrl}/records?limit=2"`,
    '',
    'More to try:',
    `  KEY=${first?.key}`,
    ...more.flatMap(([what, line]) => ['', `  # ${what}`, `  ${line}`]),
  ]
}
