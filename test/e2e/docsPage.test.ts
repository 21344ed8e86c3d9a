import type { Browser, Page } from 'playwright-core'
import { startTestApi, type TestApi } from '../support/api.ts'
import { launchBrowser, screenshots } from '../support/browser.ts'

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

type Visit = { readonly page: Page; readonly requested: string[]; readonly complaints: string[] }

/** The page as a reader has it who prefers `colorScheme`; what it asks for and complains about is noted. */
async function visit(colorScheme: 'light' | 'dark'): Promise<Visit> {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  const requested: string[] = []
  const complaints: string[] = []
  context.on('request', (request) => requested.push(request.url()))
  // What the content security policy forbids is told to the console, too.
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  await page.goto(`http://127.0.0.1:${api.port}/docs`)
  await page.locator('.opblock').first().waitFor()
  return { page, requested, complaints }
}

describe.each(['light', 'dark'] as const)('the page in %s', (colorScheme) => {
  let visited: Visit
  beforeAll(async () => {
    visited = await visit(colorScheme)
  })
  afterAll(() => visited?.page.context().close())

  test('shows the endpoints by name', async () => {
    await visited.page.screenshot({ path: `${screenshots}/docs-${colorScheme}.png` })
    const names = await visited.page.locator('.opblock-summary').allInnerTexts()
    expect(names.map((name) => name.replaceAll(/[\s\u200b]+/g, ' ').trim())).toEqual([
      'GET /forms List forms',
      'GET /forms/{id} Get one form',
      'GET /records List submissions',
      'GET /records/{id} Get one submission',
      'GET /record-counts Count submissions',
    ])
  })

  test('has the colours that are preferred', async () => {
    const background = await visited.page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const brightness = Math.max(...(background.match(/\d+/g) ?? []).map(Number))
    expect(brightness > 128).toBe(colorScheme === 'light')
  })

  test('shows parameters, answers and an example when an endpoint is opened', async () => {
    const endpoint = visited.page.locator('#operations-Records-listRecords')
    await endpoint.locator('.opblock-summary-control').click()
    await endpoint.locator('.responses-table').waitFor()
    await visited.page.screenshot({ path: `${screenshots}/docs-${colorScheme}-endpoint.png`, fullPage: true })
    const text = await endpoint.innerText()
    for (const shown of ['changedSince', 'Default value : 20', 'Replica-Watermark', 'rate_limited', '"totalDocs"'])
      expect(text).toContain(shown)
  })

  test('asked no other host for anything, and had nothing to complain about', () => {
    expect(visited.requested.length).toBeGreaterThan(5)
    expect(visited.requested.filter((url) => new URL(url).host !== `127.0.0.1:${api.port}`)).toEqual([])
    expect(visited.complaints).toEqual([])
  })
})
