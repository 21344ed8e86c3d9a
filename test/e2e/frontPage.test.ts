import { startTestApi } from '../support/api.ts'
import { barriersOn, overhangOf, useBrowser } from '../support/browser.ts'
import { useStarted } from '../support/lifecycle.ts'

/** The page needs no engine. */
const settings = { ELASTICSEARCH_URL: 'http://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' }
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const publicUrl = { ...settings, BASE_URL: 'https://quiz.example/api/v1' }
const api = useStarted('the API', () => startTestApi({ settings, awaitReady: false }))
const named = useStarted('the named API', () => startTestApi({ settings: publicUrl, awaitReady: false }))
const { visit } = useBrowser()

const looks = [360, 768, 1_440].flatMap((width) =>
  (['light', 'dark'] as const).flatMap((colorScheme) =>
    (['en-US', 'zh-CN'] as const).map((locale) => ({ width, colorScheme, locale })),
  ),
)

test.each(looks)('the page is accessible: $width pixels, $colorScheme, $locale', async (look) => {
  const { width, colorScheme, locale } = look
  const options = { viewport: { width, height: 800 }, colorScheme, locale }
  const { page, complaints, requested } = await visit(options)
  await page.goto(`http://127.0.0.1:${api.port}/`)
  expect(await page.locator('html').getAttribute('lang')).toBe(locale === 'zh-CN' ? 'zh-Hans' : 'en')
  expect(await barriersOn(page)).toEqual([])
  expect(await overhangOf(page)).toBe(0)
  const lines = 'const { scrollHeight, clientHeight } = document.querySelector("textarea"); scrollHeight - clientHeight'
  expect(await page.evaluate(lines)).toBe(0)
  expect(requested.filter((url) => new URL(url).host !== `127.0.0.1:${api.port}`)).toEqual([])
  expect(complaints).toEqual([])
})

test('a user can choose the language, select the request and open the documentation by keyboard alone', async () => {
  const { page } = await visit()
  const focused = async (): Promise<string> =>
    page.evaluate('document.activeElement === document.body ? "" : document.activeElement.textContent')
  const tabTo = async (text: string): Promise<void> => {
    for (let presses = 0; presses < 8 && !(await focused()).includes(text); presses++) await page.keyboard.press('Tab')
    expect(await focused()).toContain(text)
  }
  await page.goto(`http://127.0.0.1:${api.port}/`)
  await tabTo('简体中文')
  await page.keyboard.press('Enter')
  await page.getByText('第一个请求').waitFor()
  await tabTo('curl')
  expect(await page.evaluate('getSelection().toString()')).toBe(
    `curl -H "Authorization: Bearer <API_KEY>" "http://127.0.0.1:${api.port}/api/v1/forms?limit=1"`,
  )
  await page.goBack()
  await tabTo('API documentation')
  await page.keyboard.press('Enter')
  await page.locator('.opblock').first().waitFor()
})

test('the page shows the configured URL, also without JavaScript', async () => {
  const { page } = await visit({ javaScriptEnabled: false })
  await page.goto(`http://127.0.0.1:${named.port}/?language=en`)
  expect(await page.locator('textarea').inputValue()).toContain('"https://quiz.example/api/v1/forms?limit=1"')
  const description = page.getByRole('link', { name: 'OpenAPI description' })
  expect(await description.getAttribute('href')).toBe('./api/v1/openapi.json')
})

test('the page varies by language and Accept, may be cached, and loads from its own origin only', async () => {
  const { status, headers } = await api.send('/', { headers: html })
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(headers['content-language']).toBe('en')
  expect(headers['vary']).toBe('Accept-Encoding, Accept-Language, Accept')
  expect(headers['content-security-policy']).toContain("default-src 'none'; style-src 'self'; script-src 'self'")
  expect((await api.send('/', { headers: { ...html, 'if-none-match': headers['etag'] ?? '' } })).status).toBe(304)
})

test.each([...[undefined, '*/*', 'application/json', 'application/json, text/html', 'application/x-ndjson']])(
  'a client that sends Accept: %s gets a JSON error, as on any unknown route',
  async (accept) => {
    const headers = accept === undefined ? {} : { accept }
    const [front, unknown] = await Promise.all(['/', '/nowhere'].map((path) => api.send(path, { headers })))
    expect([front?.status, front?.json]).toEqual([unknown?.status, unknown?.json])
    expect(front?.json).toMatchObject({ error: { code: 'unauthorized' } })
  },
)

test.each(['POST', 'DELETE'])('%s does not get the page', async (method) => {
  expect((await api.send('/', { method, headers: html })).status).toBe(401)
})
