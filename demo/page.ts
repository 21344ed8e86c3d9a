import type { Counts, World } from './world.ts'

const dayMs = 86_400_000

type Running = {
  readonly baseUrl: string
  /** Signs in to the settings area as an owner of the first team. */
  readonly settingsLink: string
  readonly teams: readonly (World['teams'][number] & Counts & { readonly key: string })[]
  /** A form of the first team. */
  readonly formId: string
  readonly nowMs: number
}

/** What a newcomer reads when the demo is ready. */
export function renderPage({ baseUrl, settingsLink, teams, formId, nowMs }: Running): string {
  const [first] = teams
  const day = (daysAgo: number): string => new Date(nowMs - daysAgo * dayMs).toISOString().slice(0, 10)
  const curl = (query: string, flags = '-s'): string =>
    `curl ${flags} -H "Authorization: Bearer $KEY" "${baseUrl}/${query}"`
  const requests: readonly [what: string, line: string][] = [
    ['A form title, in spite of a typo', curl('forms?titleContains=data%20protecion')],
    ['Reports that failed', curl('records?status=failed&limit=5')],
    ['Submissions of the last week, second page', curl(`records?since=${day(7)}&until=${day(1)}&limit=5&page=2`)],
    [
      'One form without its questions and its report settings',
      curl(`forms/${formId}?includeFields=false&includeReport=false`),
    ],
    ['How fresh an answer is: see Replica-Watermark', curl('records?limit=1', '-si')],
  ]
  return [
    '',
    `Base URL  ${baseUrl}`,
    `Docs      ${new URL('/docs', baseUrl)}`,
    `Settings  ${settingsLink}`,
    `          as an owner of ${first?.name}; works once, for five minutes; "npm run sign-in" prints another one`,
    ...teams.map(({ key, name, forms, submissions }) => {
      const size = `${forms} forms, ${submissions.toLocaleString('en')} submissions`
      return `Key       ${key}  ${name}: ${size}`
    }),
    '',
    'The newest submissions; new ones come every second, and their reports are finished seconds later:',
    `  curl -s -H "Authorization: Bearer ${first?.key}" "${baseUrl}/records?limit=2"`,
    '',
    'More to try:',
    `  KEY=${first?.key}`,
    ...requests.flatMap(([what, line]) => ['', `  # ${what}`, `  ${line}`]),
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n')
}
