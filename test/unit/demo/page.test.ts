import { renderPage } from '../../../demo/page.ts'
import { teams } from '../../../demo/teams.ts'

test('the page names the base URL, the documentation and every key, and its first request needs no preparation', () => {
  const keyed = teams.map((team, index) => ({ ...team, forms: 4, submissions: 1_200, key: `rqp_acct_${index}` }))
  const baseUrl = 'http://127.0.0.1:3000/api/v1'
  const lines = renderPage({
    baseUrl,
    settingsLink: 'http://127.0.0.1:3001/sign-in?token=x',
    teams: keyed,
    formId: 'form-1',
    nowMs: Date.UTC(2026, 10, 21),
  }).split('\n')
  expect(lines).toContain(`Base URL  ${baseUrl}`)
  expect(lines).toContain('Docs      http://127.0.0.1:3000/docs')
  expect(lines).toContain('Settings  http://127.0.0.1:3001/sign-in?token=x')
  for (const { key, name } of keyed) expect(lines).toContain(`Key       ${key}  ${name}: 4 forms, 1,200 submissions`)
  const requests = lines.filter((line) => line.includes('curl '))
  expect(requests[0]).toContain('Bearer rqp_acct_0"')
  expect(requests.slice(1).every((line) => line.includes('Bearer $KEY"'))).toBe(true)
  expect(requests.join('\n')).toContain(`${baseUrl}/records?since=2026-11-14&until=2026-11-20`)
  expect(requests.join('\n')).toContain(`${baseUrl}/forms/form-1?includeFields=false`)
})
