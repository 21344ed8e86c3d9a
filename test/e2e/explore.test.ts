import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { useApi } from '../support/api.ts'
import { barriersOn, overhangOf, useBrowser, type Visit } from '../support/browser.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'

const run = promisify(execFile)
const team = 'team-1'
const dayMs = 86_400_000
const startedMs = Date.now()
const question = { code: 'q1', type: 'single_choice', title: 'The easy one' }
const within = { code: 'q3', type: 'single_choice', title: 'The one within' }
const fields = [
  ...[question, { code: 'page', type: 'page_break' }, { code: 'q2', type: 'multiple_choice' }],
  { type: 'group', fields: [within, { code: 'q1', title: 'The easy one again' }] },
]
const titles = { 'form-1': 'Alpha quiz', 'form-2': 'Beta quiz', 'form-3': '<b>Gamma & "delta"</b>' }
const levels = ['good', 'good', 'poor', null, 'poor', '<i>odd', 'good']
/** One a day, the newest first; the last one is older than a week. */
const submissions = [90, 70.5, 10, 50, null, 1, 80].map((score, at) =>
  submissionEntity({
    id: `s-${at}`,
    formId: at % 3 === 2 ? 'form-2' : 'form-1',
    submittedAt: new Date(startedMs - (at < 6 ? at : 20) * dayMs).toISOString(),
    metadata: { utmCampaign: at < 2 ? 'spring' : 'autumn' },
    data: { q1: at === 0 ? 'B' : 'A', q2: ['B', 'C'].slice(at % 2), q3: 'D' },
    result: { status: 'completed', score, maxScore: 100, level: levels[at], outcomeCode: null, outcomeName: null },
  }),
)

/** Another team has a form of the same id, with another question. */
const otherForm = formEntity({ id: 'form-1', title: 'Delta quiz', fields: [{ ...question, title: 'The hard one' }] })

const api = useApi({
  teams: [team, 'team-2'],
  forms: [
    ...Object.entries(titles).map(([id, title]) => ({ team, id, entity: formEntity({ id, title, fields }) })),
    { team: 'team-2', id: 'form-1', entity: otherForm },
  ],
  submissions: submissions.map((entity) => ({ team, id: entity.id, entity })),
})
const opened = useBrowser()

const urlOf = (port: number): string => `http://127.0.0.1:${port}/explore`
const visit = async (options: BrowserContextOptions = {}, url = urlOf(api.port)): Promise<Visit> => {
  const visited = await opened.visit({ timezoneId: 'Asia/Kathmandu', ...options })
  await visited.page.goto(url)
  return visited
}
const show = async (page: Page, key = api.key): Promise<void> => {
  await page.locator('#key').fill(key)
  await page.locator('#key').press('Enter')
}
const status = (page: Page, section: string, text: string): Promise<void> =>
  page.locator(`#${section} [role=status]`).getByText(text, { exact: true }).waitFor()
const valueShown = (page: Page, name: string): Promise<void> =>
  page.getByRole('rowheader', { name, exact: true }).waitFor()
const alerts = (page: Page): Promise<string[]> => page.locator('[role=alert]').allInnerTexts()
const offered = (page: Page): Promise<string[]> => page.locator('#form-list label').allInnerTexts()
const requestOf = (page: Page, name: string): Promise<string> => page.locator(`#${name}-request`).inputValue()

type Counted = { key: string | null; count: number; scores: { mean: number | null } }
type CountedByDay = { key: [day: string, value: string | null]; count: number }

/** What the API answers to the request that the page shows. */
async function answered<Item>(page: Page, name: string): Promise<{ totalDocs: number; items: Item[] }> {
  const url = /'(.*)'$/.exec(await requestOf(page, name))?.[1] ?? ''
  return api.read(url.slice(new URL(url).origin.length))
}

const dates = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const sumOf = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0)

/** Expects the table and the bars to show what the API answers to the requests on show. */
async function expectAnswersShown(page: Page, days: number): Promise<void> {
  const [totals, byDay] = [await answered<Counted>(page, 'totals'), await answered<CountedByDay>(page, 'days')]
  await status(page, 'counts', `Submissions: ${totals.totalDocs}`)
  const [[, , , ...labels] = [], ...rows] = await page
    .locator('#numbers tr')
    .evaluateAll((all) => all.map((row) => [...row.children].map(({ textContent }) => textContent)))
  const meanOf = (mean: number | null): string => (mean === null ? '–' : String(Math.round(mean * 10) / 10))
  const expected = totals.items.map(({ key, count, scores }) => [key ?? '(none)', String(count), meanOf(scores.mean)])
  expect(rows.map((row) => row.slice(0, 3))).toEqual(expected)
  const counts = labels.map((_, at) => rows.map((row) => Number(row[at + 3])))
  const shown = labels.flatMap((day, at) => rows.map(([value], each) => [day, value, counts[at]?.[each]]))
  const daily = byDay.items.map(({ key: [day, value], count }) => {
    return [dates.format(Date.parse(day.slice(0, 10))), value ?? '(none)', count]
  })
  expect(new Set(shown.filter(([, , count]) => count !== 0))).toEqual(new Set(daily))
  const heights = await page
    .locator('#bars > div')
    .evaluateAll((bars) => bars.map((bar) => [...bar.children].map((part) => part.getBoundingClientRect().height)))
  const unit = Math.max(...heights.map(sumOf)) / Math.max(...counts.map(sumOf))
  expect(counts.length).toBe(days)
  expect(heights.map((parts) => parts.map((part) => Math.round(part / unit)))).toEqual(counts)
}

test('numbers and bars are those of the API for every choice, and the key is nowhere but in its field', async () => {
  const { page, complaints, requested } = await visit()
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  await expectAnswersShown(page, 7)
  expect(await offered(page)).toEqual(['All forms', ...Object.values(titles).toReversed()])
  const choose = async (...labels: string[]): Promise<void> => {
    for (const label of labels) await page.getByLabel(label, { exact: true }).check()
  }
  await choose('30 days')
  await status(page, 'counts', 'Submissions: 7')
  await expectAnswersShown(page, 30)
  await choose('7 days', 'Campaign')
  await page.getByText('autumn').waitFor()
  await expectAnswersShown(page, 7)
  await choose('Answer')
  await page.getByText('Choose a form first.').waitFor()
  expect(await page.locator('#numbers').isVisible()).toBe(false)
  await choose('Alpha quiz')
  await status(page, 'counts', 'Submissions: 4')
  await expectAnswersShown(page, 7)
  expect(await page.locator('#code option').allInnerTexts()).toEqual(['The easy one', 'q2', 'The one within'])
  await page.locator('#code').selectOption('q3')
  await valueShown(page, 'D')
  await expectAnswersShown(page, 7)
  await page.locator('#code').selectOption('q2')
  await valueShown(page, 'C')
  await expectAnswersShown(page, 7)

  await page.getByText('As requests').click()
  for (const name of ['forms', 'form', 'days', 'totals']) {
    await page.locator(`#${name}-request`).focus()
    const selected = await page.evaluate<string>('getSelection().toString()')
    const { stdout } = await run('sh', ['-c', `${selected} -s`], { env: { ...process.env, TIDEMARK_KEY: api.key } })
    expect(JSON.parse(stdout)).toEqual(await answered(page, name))
  }

  const stored = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.body.outerHTML])',
  )
  const told = [...requested, ...said, JSON.stringify(api.logLines), stored]
  expect(told.filter((text) => String(text).includes(api.key))).toEqual([])
  expect(requested.filter((url) => new URL(url).host !== `127.0.0.1:${api.port}`)).toEqual([])
  expect(complaints).toEqual([])
  await page.reload()
  expect(await page.locator('#key').inputValue()).toBe('')
})

test('a key shows the forms and questions of its own team only, also of a form whose id another team has, too', async () => {
  const { page } = await visit()
  const questionsOf = async (title: string, first: string): Promise<string[]> => {
    await page.getByLabel(title, { exact: true }).check()
    await page.locator('#code option', { hasText: first }).waitFor({ state: 'attached' })
    return page.locator('#code option').allInnerTexts()
  }
  await show(page)
  await page.getByLabel('Answer', { exact: true }).check()
  expect(await questionsOf('Alpha quiz', 'The easy one')).toEqual(['The easy one', 'q2', 'The one within'])
  // The other team has no form of the id that is chosen last; the questions are still those of the one before.
  for (const label of ['Level', 'Beta quiz']) await page.getByLabel(label, { exact: true }).check()
  await show(page, api.keyOf('team-2'))
  await status(page, 'forms', 'Forms found: 1')
  expect(await offered(page)).toEqual(['All forms', 'Delta quiz'])
  await page.getByLabel('Answer', { exact: true }).check()
  expect(await questionsOf('Delta quiz', 'The hard one')).toEqual(['The hard one'])
})

test('a user who types fast sees the results of the last text only', async () => {
  const { page } = await visit()
  await show(page)
  await status(page, 'forms', 'Forms found: 3')
  const held: Route[] = []
  await page.route(/titleContains=Alpha/, (route) => void held.push(route))
  const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('titleContains=Alpha'))
  await page.locator('#title').pressSequentially('Alpha')
  await eventually(() => held.length === 1)
  await page.locator('#title').fill('Beta')
  await aborted
  await status(page, 'forms', 'Forms found: 1')
  expect(await offered(page)).toEqual(['All forms', 'Beta quiz'])
  await held[0]?.continue().catch(() => undefined)
  await page.locator('#title').fill('')
  await status(page, 'forms', 'Forms found: 3')
  await page.getByLabel('Alpha quiz').check()
  await page.locator('#title').fill('beta')
  await status(page, 'forms', 'Forms found: 1')
  expect(await offered(page)).toEqual(['All forms', 'Alpha quiz', 'Beta quiz'])
  expect(held.length).toBe(1)
})

test('an error of the API is shown in its words, with the time to try again', async () => {
  const limited = await api.startAnother({ RATE_LIMIT_PER_MINUTE: '3' })
  const { page } = await visit({}, urlOf(limited.port))
  await page.getByLabel('30 days').check()
  await eventually(async () => (await alerts(page)).includes('Enter an account key first.'))
  await show(page, 'rqp_acct_schlüssel')
  const { error } = (await api.send('/api/v1/forms', { key: 'rqp_acct_x' })).json as { error: { message: string } }
  await eventually(async () => (await alerts(page)).every((text) => text === error.message))
  await show(page, await api.replica.storeKey(team, { id: 'key-2' }))
  await status(page, 'counts', 'Submissions: 7')
  expect(await alerts(page)).toEqual(['', ''])
  await page.getByLabel('Campaign').check()
  await page.getByText(/Try again in \d+ s\./).waitFor()
  expect(await page.locator('#numbers').isVisible()).toBe(false)
  await page.route('**/record-counts?**', (route) => route.abort())
  await page.getByLabel('Level').check()
  await page.getByText('The API cannot be reached.').waitFor()
})

test('a user can enter the key, search a title and choose form and counts by keyboard alone', async () => {
  const { page } = await visit()
  const tabTo = async (name: string): Promise<void> => {
    const isThere = `document.activeElement.matches('${name}')`
    for (let presses = 0; presses < 12 && !(await page.evaluate(isThere)); presses++) await page.keyboard.press('Tab')
    expect(await page.evaluate(isThere)).toBe(true)
  }
  await tabTo('#key')
  await page.keyboard.type(api.key)
  await page.keyboard.press('Enter')
  await status(page, 'counts', 'Submissions: 6')
  await tabTo('#title')
  await page.keyboard.type('alpah')
  await status(page, 'forms', 'Forms found: 1')
  await tabTo('[name=form]')
  await page.keyboard.press('ArrowDown')
  await status(page, 'counts', 'Submissions: 4')
  await tabTo('[name=counted]')
  for (const _ of ['outcome', 'utmCampaign', 'answer']) await page.keyboard.press('ArrowRight')
  await valueShown(page, 'A')
  await tabTo('#code')
  await page.keyboard.press('ArrowDown')
  await valueShown(page, 'C')
  await tabTo('.table')
})

test('below the path of a proxy, the page requests everything below that path', async () => {
  const behind = `http://127.0.0.1:${api.port}/behind/`
  const { page, requested, complaints } = await opened.visit()
  await page.route(`${behind}**`, async (route) =>
    route.fulfill({ response: await route.fetch({ url: route.request().url().replace('/behind/', '/') }) }),
  )
  await page.goto(`${behind}explore?language=zh`)
  await page.getByRole('link', { name: 'English' }).click()
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  expect([...requested.filter((url) => !url.startsWith(behind)), ...complaints]).toEqual([])
})

test.each([
  { colorScheme: 'light', width: 360, locale: 'en-US' } as const,
  { colorScheme: 'dark', width: 1_280, locale: 'zh-CN' } as const,
])('the page is accessible: $colorScheme, $width pixels, $locale', async ({ colorScheme, width, locale }) => {
  const { page, complaints } = await visit({ colorScheme, locale, viewport: { width, height: 800 } })
  const expectGood = async (): Promise<void> => {
    // axe leaves the contrast of single digits to people, and of what has an image or a fixed column over it.
    const undecided = /color-contrast: .*(too short to determine|color could not be determined)/s
    expect((await barriersOn(page)).filter((barrier) => !undecided.test(barrier))).toEqual([])
    expect(await overhangOf(page)).toBe(0)
  }
  await expectGood()
  await show(page, 'rqp_acct_unknown')
  await eventually(async () => (await alerts(page)).every((text) => text !== ''))
  await expectGood()
  await show(page)
  await page.getByLabel('Alpha quiz').check()
  await page.locator('[name=counted][value=answer]').check()
  await valueShown(page, 'A')
  await page.locator('summary').click()
  await expectGood()
  expect(complaints).toEqual([])
})

test('the page needs no key, loads from its own origin only, and has one path', async () => {
  const { status: found, headers } = await api.send('/explore', { headers: { 'accept-language': 'zh-CN' } })
  expect([found, headers['content-language']]).toEqual([200, 'zh-Hans'])
  expect(headers['vary']).toBe('Accept-Encoding, Accept-Language')
  expect(headers['content-security-policy']).toContain("default-src 'none'; style-src 'self'; script-src 'self'")
  expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/)
  expect((await api.send('/explore', { method: 'POST' })).status).toBe(405)
  expect((await api.send('/explore/')).status).toBe(401)
})
