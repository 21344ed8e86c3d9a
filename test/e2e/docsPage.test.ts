import type { Browser } from 'playwright-core'
import { startTestApi, type TestApi } from '../support/api.ts'
import { launchBrowser, openVisit, screenshotOf, type Visit } from '../support/browser.ts'

/** The page needs no engine. */
const settings = { ELASTICSEARCH_URL: 'http://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' }

let api: TestApi
let browser: Browser

beforeAll(async () => {
  api = await startTestApi({ settings, awaitReady: false })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await api?.close()
})

describe.each(['light', 'dark'] as const)('the page in %s', (colorScheme) => {
  let visited: Visit
  beforeAll(async () => {
    visited = await openVisit(browser, { colorScheme })
    await visited.page.goto(`http://127.0.0.1:${api.port}/docs`)
    await visited.page.locator('.opblock').first().waitFor()
  })
  afterAll(() => visited?.close())

  test('shows the endpoints by name', async () => {
    await screenshotOf(visited.page, `docs-${colorScheme}`)
    const names = await visited.page.locator('.opblock-summary').allInnerTexts()
    expect(names.map((name) => name.replaceAll(/[\s\u200b]+/g, ' ').trim())).toEqual([
      ...['GET /forms List forms', 'GET /forms/{id} Get one form', 'GET /records List submissions'],
      ...['GET /records/{id} Get one submission', 'GET /record-counts Count submissions'],
    ])
  })

  test('leads to the page that charts submissions', async () => {
    const link = visited.page.getByRole('link', { name: '/explore' })
    expect(await link.getAttribute('href')).toBe('/explore')
  })

  test('has the colours that are preferred', async () => {
    const text = await visited.page.evaluate<string>('getComputedStyle(document.querySelector(".info .title")).color')
    const brightness = Math.max(...(text.match(/\d+/g) ?? []).map(Number))
    expect(brightness > 128).toBe(colorScheme === 'dark')
  })

  test('shows parameters, answers and an example when an endpoint is opened', async () => {
    const endpoint = visited.page.locator('#operations-Records-listRecords')
    await endpoint.locator('.opblock-summary-control').click()
    await endpoint.locator('.responses-table').waitFor()
    await screenshotOf(visited.page, `docs-${colorScheme}-endpoint`)
    const text = await endpoint.innerText()
    for (const shown of ['changedSince', 'Default value : 20', 'Replica-Watermark', 'rate_limited', '"totalDocs"'])
      expect(text).toContain(shown)
  })

  test('asked no other host for anything, and had nothing to complain about', () => {
    expect(visited.requested.length).toBeGreaterThan(3)
    expect(visited.requested.filter((url) => new URL(url).host !== `127.0.0.1:${api.port}`)).toEqual([])
    expect(visited.complaints).toEqual([])
  })
})
