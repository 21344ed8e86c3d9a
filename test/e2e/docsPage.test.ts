import { startTestApi } from '../support/api.ts'
import { openVisit, useBrowser } from '../support/browser.ts'
import { useStarted } from '../support/lifecycle.ts'

/** The page needs no engine. */
const settings = { ELASTICSEARCH_URL: 'http://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' }

const api = useStarted('the API', () => startTestApi({ settings, awaitReady: false }))
const { browser } = useBrowser()

describe.each(['light', 'dark'] as const)('the page in %s', (colorScheme) => {
  const visited = useStarted('the visit', () => openVisit(browser, { colorScheme }))
  beforeAll(async () => {
    await visited.page.goto(`http://127.0.0.1:${api.port}/docs`)
    await visited.page.locator('.opblock').first().waitFor()
  })

  test('shows the endpoints by name', async () => {
    const names = await visited.page.locator('.opblock-summary').allInnerTexts()
    expect(names.map((name) => name.replaceAll(/[\s\u200b]+/g, ' ').trim())).toEqual([
      ...['GET /forms List forms', 'GET /forms/{id} Get one form', 'GET /form-changes Follow changes of forms'],
      ...['GET /records List submissions', 'GET /records/{id} Get one submission'],
      ...['GET /record-counts Count submissions', 'GET /record-changes Follow changes of submissions'],
    ])
  })

  test('links to the page that charts submissions', async () => {
    const link = visited.page.getByRole('link', { name: '/explore' })
    expect(await link.getAttribute('href')).toBe('/explore')
  })

  test('has the preferred colour scheme', async () => {
    const text = await visited.page.evaluate<string>('getComputedStyle(document.querySelector(".info .title")).color')
    const brightness = Math.max(...(text.match(/\d+/g) ?? []).map(Number))
    expect(brightness > 128).toBe(colorScheme === 'dark')
  })

  test('shows parameters, answers and an example when an endpoint is opened', async () => {
    const endpoint = visited.page.locator('#operations-Records-listRecords')
    await endpoint.locator('.opblock-summary-control').click()
    await endpoint.locator('.responses-table').waitFor()
    const text = await endpoint.innerText()
    for (const shown of ['changedSince', 'Default value : 20', 'Replica-Watermark', 'rate_limited', '"totalDocs"'])
      expect(text).toContain(shown)
  })

  test('requested nothing from other hosts, and reported no error', () => {
    expect(visited.requested.length).toBeGreaterThan(3)
    expect(visited.requested.filter((url) => new URL(url).host !== `127.0.0.1:${api.port}`)).toEqual([])
    expect(visited.complaints).toEqual([])
  })
})
