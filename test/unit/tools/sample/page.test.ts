import { renderPage, renderSamplePage } from '../../../../tools/sample/page.ts'
import { teams } from '../../../../tools/sample/teams.ts'

const baseUrl = 'http://127.0.0.1:3000/api/v1'
const served = {
  baseUrl,
  teams: teams.map((team, index) => ({ ...team, forms: 4, submissions: 1_200, key: `rqp_acct_${index}` })),
  formId: 'form-1',
  nowMs: Date.UTC(2026, 10, 21),
}
const pages = {
  demo: renderPage({ ...served, settingsLink: 'http://127.0.0.1:3001/sign-in?token=x' }),
  sample: renderSamplePage(served),
}

test.each(['demo', 'sample'] as const)(
  'the page of the %s names the base URL, the documentation and every key, and its first request needs no preparation',
  (name) => {
    const lines = pages[name].split('\n')
    expect(lines).toContain(`Base URL  ${baseUrl}`)
    expect(lines).toContain('Docs      http://127.0.0.1:3000/docs')
    for (const team of served.teams)
      expect(lines).toContain(`Key       ${team.key}  ${team.name}: 4 forms, 1,200 submissions`)
    const requests = lines.filter((line) => line.includes('curl '))
    expect(requests[0]).toContain('Bearer rqp_acct_0"')
    expect(requests.slice(1).every((line) => line.includes('Bearer $KEY"'))).toBe(true)
    expect(requests.join('\n')).toContain(`${baseUrl}/records?since=2026-11-14&until=2026-11-20`)
    expect(requests.join('\n')).toContain(`${baseUrl}/forms/form-1?includeFields=false`)
  },
)

test('the demo also leads to the settings area, and says how it ends', () => {
  expect(pages.demo).toContain('\nSettings  http://127.0.0.1:3001/sign-in?token=x\n')
  expect(pages.demo).toContain('Ctrl-C stops everything.')
  expect(pages.sample).not.toMatch(/Settings|Ctrl-C/)
})
