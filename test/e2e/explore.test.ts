import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { useApi } from '../support/api.ts'
import { barriersOn, overhangOf, useBrowser, type Visit } from '../support/browser.ts'
import { type Cell, csvRows } from '../support/csv.ts'
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
const levels = ['good', 'good', 'poor', null, 'poor', '=<i>odd', 'good']
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

/** Two forms of one title. The older one has a submission, long ago. */
const yearly = [
  { id: 'form-1', title: 'Yearly quiz', scene: 'scored_quiz', createdAt: '2025-03-01T09:30:00.000Z' },
  { id: 'form-2', title: 'Yearly quiz', scene: 'outcome_quiz', createdAt: '2026-03-01T22:30:00.000Z' },
]

const api = useApi({
  teams: [team, 'team-2', 'team-3'],
  forms: [
    ...Object.entries(titles).map(([id, title]) => ({ team, id, entity: formEntity({ id, title, fields }) })),
    { team: 'team-2', id: 'form-1', entity: otherForm },
    ...yearly.map((form) => ({ team: 'team-3', id: form.id, entity: formEntity(form) })),
  ],
  submissions: [
    ...submissions.map((entity) => ({ team, id: entity.id, entity })),
    { team: 'team-3', id: 's-0', entity: submissionEntity({ id: 's-0', formId: 'form-1' }) },
  ],
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
const offered = (page: Page): Promise<string[]> => page.locator('#form-list .title').allInnerTexts()
const chooseForm = (page: Page, title: string): Promise<void> =>
  page.locator('#form-list label').filter({ hasText: title }).locator('input').check()
const requestOf = (page: Page, name: string): Promise<string> => page.locator(`#${name}-request`).inputValue()

type Counted = { key: string | null; count: number; scores: { mean: number | null } }
type CountedByDay = { key: [day: string, value: string | null]; count: number }

/** What the API answers to the request that the page shows. */
async function answered<Item>(page: Page, name: string): Promise<{ totalDocs: number; items: Item[] }> {
  const url = /'(.*)'$/.exec(await requestOf(page, name))?.[1] ?? ''
  return api.read(url.slice(new URL(url).origin.length))
}

/** What Chart.js says of the chart on the page, by an expression of it. The browser gives it its size in the frame after its first answer. */
async function ofChart<Answer>(page: Page, expression: string): Promise<Answer> {
  await page.waitForFunction("Chart.getChart('chart').chartArea?.height > 100")
  return page.evaluate<Answer>(`((chart) => ${expression})(Chart.getChart('chart'))`)
}
/** The height of each day's parts. */
const barHeights =
  'chart.data.labels.map((_, day) => chart.getSortedVisibleDatasetMetas().map(({ data }) => data[day].base - data[day].y))'

const dates = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const sumOf = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0)

/** Expects the table and the chart to show what the API answers to the requests on show. */
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
  const heights = await ofChart<number[][]>(page, barHeights)
  const unit = Math.max(...heights.map(sumOf)) / Math.max(...counts.map(sumOf))
  expect(await ofChart(page, 'chart.data.labels')).toEqual(labels)
  expect(counts.length).toBe(days)
  expect(heights.map((parts) => parts.map((part) => Math.round(part / unit)))).toEqual(counts)
}

test('numbers and chart are those of the API for every choice, and the key is nowhere but in its field', async () => {
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
  await valueShown(page, 'autumn')
  await expectAnswersShown(page, 7)
  await choose('Answer')
  await page.getByText('Choose a form first.').waitFor()
  expect(await page.locator('#numbers').isVisible()).toBe(false)
  await chooseForm(page, 'Alpha quiz')
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
  for (const name of ['forms', 'form-counts', 'form', 'days', 'totals']) {
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
    await chooseForm(page, title)
    await page.locator('#code option', { hasText: first }).waitFor({ state: 'attached' })
    return page.locator('#code option').allInnerTexts()
  }
  await show(page)
  await page.getByLabel('Answer', { exact: true }).check()
  expect(await questionsOf('Alpha quiz', 'The easy one')).toEqual(['The easy one', 'q2', 'The one within'])
  // The other team has no form of the id that is chosen last; the questions are still those of the one before.
  await page.getByLabel('Level', { exact: true }).check()
  await chooseForm(page, 'Beta quiz')
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
  await chooseForm(page, 'Alpha quiz')
  await page.locator('#title').fill('beta')
  await status(page, 'forms', 'Forms found: 1')
  expect(await offered(page)).toEqual(['All forms', 'Alpha quiz', 'Beta quiz'])
  expect(held.length).toBe(1)
})

test('an error of the API is shown in its words, with the time to try again', async () => {
  const limited = await api.startAnother({ RATE_LIMIT_PER_MINUTE: '4' })
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

/** Numbers of the days of the chart, as the page reads them out: oldest first. */
async function readOut(page: Page, days: number): Promise<string[]> {
  await page.locator('#chart').focus()
  const said: string[] = []
  for (let day = 0; day < days; day++) {
    await page.keyboard.press(day === 0 ? 'Home' : 'ArrowRight')
    said.push(await page.locator('#point').innerText())
  }
  return said
}

test('the arrow keys move through the days of the chart, and the numbers of each are announced to screen readers', async () => {
  const { page } = await visit()
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  const { items } = await answered<CountedByDay>(page, 'days')
  const [oldest, ...later] = await readOut(page, 7)
  expect(oldest).toMatch(/^\w+day, \w+ \d+, \d{4}: 0$/)
  const expected = items.map(({ key: [day, value], count }) => {
    const date = new Date(day.slice(0, 10)).toLocaleDateString('en', { dateStyle: 'full', timeZone: 'UTC' })
    return `${date}: ${count} · ${value ?? '(none)'}: ${count}`
  })
  expect(later).toEqual(expected)
  const said = page.locator('#point')
  expect(await said.getAttribute('aria-live')).toBe('polite')
  await page.keyboard.press('ArrowRight')
  expect(await said.innerText()).toBe(expected.at(-1))
  await page.keyboard.press('ArrowLeft')
  expect(await said.innerText()).toBe(expected.at(-2))
  expect(await ofChart(page, 'chart.tooltip.opacity')).toBe(1)
  expect(await ofChart(page, 'chart.tooltip.title')).toEqual([
    dates.format(Date.parse(items.at(-2)?.key[0].slice(0, 10) ?? '')),
  ])
  await page.keyboard.press('Escape')
  expect(await said.innerText()).toBe('')
  expect(await ofChart(page, 'chart.tooltip.getActiveElements()')).toEqual([])
  await page.keyboard.press('End')
  expect(await said.innerText()).toBe(expected.at(-1))
  await page.keyboard.press('Tab')
  expect(await said.innerText()).toBe('')
})

test('the axes have names and whole numbers, and the pointer shows the numbers of a day', async () => {
  const { page } = await visit()
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  const axes =
    'Object.values(chart.scales).map(({ options, ticks }) => [options.title.text, ticks.map(({ label }) => label)])'
  const [[time, days], [name, numbers]] = await ofChart<[[string, string[]], [string, string[]]]>(page, axes)
  expect([time, name]).toEqual([expect.stringMatching(/^Day \(Asia\/Kath?mandu\)$/), 'Submissions'])
  expect(days.every((day) => /^[A-Z][a-z]{2} \d+$/.test(day))).toBe(true)
  expect(numbers).toEqual(['0', '1'])
  const canvas = page.locator('#chart')
  const { x, y } = await ofChart<{ x: number; y: number }>(
    page,
    '(({ x, y }) => ({ x, y }))(chart.getDatasetMeta(0).data[6])',
  )
  await canvas.hover({ position: { x, y: y + 5 } })
  await eventually(async () => (await ofChart(page, 'chart.tooltip.opacity')) === 1)
  expect(await ofChart(page, 'chart.tooltip.body.flatMap(({ lines }) => lines)')).toEqual([
    ...['good: 1', 'poor: 0', '=<i>odd: 0', '(none): 0'],
  ])
})

test('the legend hides a value in chart, table and file, also in the next answers', async () => {
  const { page } = await visit()
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  const button = page.locator('#legend').getByRole('button', { name: 'poor' })
  const rows = (): Promise<string[]> => page.locator('#numbers tbody tr:visible th').allInnerTexts()
  const labels = 'chart.getSortedVisibleDatasetMetas().map(({ label }) => label)'
  expect(await rows()).toEqual(['good', 'poor', '=<i>odd', '(none)'])
  expect(await button.getAttribute('aria-pressed')).toBe('true')
  await button.press('Space')
  const others = ['good', '=<i>odd', '(none)']
  expect([await rows(), await ofChart(page, labels)]).toEqual([others, others])
  expect((await readOut(page, 7)).filter((text) => text.includes('poor'))).toEqual([])
  await page.getByLabel('30 days').check()
  await status(page, 'counts', 'Submissions: 7')
  expect(await rows()).toEqual(others)
  expect(await button.getAttribute('aria-pressed')).toBe('false')
  expect((await savedFile(page)).rows.map(([name]) => name?.text)).toEqual(['Value', 'good', "'=<i>odd", '(none)'])
  await button.click()
  expect(await rows()).toEqual(['good', 'poor', '=<i>odd', '(none)'])
  expect(await ofChart(page, labels)).toEqual(['good', 'poor', '=<i>odd', '(none)'])
})

async function savedFile(page: Page): Promise<{ name: string; rows: Cell[][] }> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#csv').click()])
  return { name: download.suggestedFilename(), rows: csvRows(await readFile(await download.path(), 'utf8')) }
}

test('the file has the numbers on show, with all digits and whole dates', async () => {
  const { page, requested } = await visit()
  await show(page)
  await chooseForm(page, 'Alpha quiz')
  await status(page, 'counts', 'Submissions: 4')
  const { name, rows } = await savedFile(page)
  const { items: totals } = await answered<Counted>(page, 'totals')
  const { items: byDay } = await answered<CountedByDay>(page, 'days')
  const [header = [], ...values] = rows.map((row) => row.map(({ text }) => text))
  const days = header.slice(3)
  expect(header).toEqual(['Value', 'Submissions', 'Mean score', ...days])
  expect(days).toHaveLength(7)
  expect(name).toBe(`submissions-form-1-level-${days[0]}-${days[6]}.csv`)
  const countOf = (value: string | null, date: string): number =>
    byDay.find(({ key: [day, key] }) => day.startsWith(date) && key === value)?.count ?? 0
  const expected = totals.map(({ key, count, scores: { mean } }) => [
    ...[(key ?? '(none)').replace(/^=/, "'="), String(count), String(mean ?? '')],
    ...days.map((day) => String(countOf(key, day))),
  ])
  expect(values).toEqual(expected)
  expect(rows.slice(1).every(([first, ...others]) => first?.isQuoted && !others.some(({ isQuoted }) => isQuoted))).toBe(
    true,
  )
  expect(requested.filter((url) => new URL(url).host !== `127.0.0.1:${api.port}` && !url.startsWith('blob:'))).toEqual(
    [],
  )
})

test('two forms of one title differ by scene, creation and number of submissions', async () => {
  const { page } = await visit({ timezoneId: 'Europe/Berlin' })
  await show(page, api.keyOf('team-3'))
  await status(page, 'forms', 'Forms found: 2')
  const texts = await page.locator('#form-list label').allInnerTexts()
  expect(texts.map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual([
    'All forms',
    'Yearly quiz Outcome quiz · Mar 1, 2026, 11:30 PM · Submissions: 0',
    'Yearly quiz Scored quiz · Mar 1, 2025, 10:30 AM · Submissions: 1',
  ])
  await chooseForm(page, 'Scored quiz')
  await eventually(async () => (await requestOf(page, 'days')).includes('formId=form-1'))
  await page
    .locator('#shown')
    .getByText(/^Yearly quiz · Level · /)
    .waitFor({ state: 'attached' })
})

test('days are those of the chosen time zone', async () => {
  const { page } = await visit()
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
    await page.locator('#zone').selectOption(zone)
    await eventually(() => ofChart<boolean>(page, `chart.options.scales.x.title.text === 'Day (${zone})'`))
    await expectAnswersShown(page, 7)
    const last = new Date().toLocaleDateString('en', { month: 'short', day: 'numeric', timeZone: zone })
    expect(await ofChart(page, 'chart.data.labels.at(-1)')).toBe(last)
  }
})

test('the chart follows the colour scheme, and is light on paper, without the controls', async () => {
  const { page } = await visit({ colorScheme: 'light' })
  await show(page)
  await status(page, 'counts', 'Submissions: 6')
  const colours = (): Promise<string[]> =>
    ofChart(
      page,
      '[chart.scales.x.options.ticks.color, ...chart.data.datasets.map(({ backgroundColor }) => backgroundColor)]',
    )
  const light = await colours()
  expect(new Set(light).size).toBe(5)
  await page.emulateMedia({ colorScheme: 'dark' })
  await eventually(async () => (await colours()).every((colour, at) => colour !== light[at]))
  await page.emulateMedia({ colorScheme: 'dark', media: 'print' })
  await page.evaluate("dispatchEvent(new Event('beforeprint'))")
  expect(await colours()).toEqual(light)
  for (const shown of ['#shown', '#chart', '#numbers']) expect(await page.locator(shown).isVisible()).toBe(true)
  const controls = await page.locator(':is(input, button, select, summary, a):visible').count()
  expect(controls).toBe(0)
  await page.emulateMedia({ colorScheme: 'dark', media: 'screen' })
  await page.evaluate("dispatchEvent(new Event('afterprint'))")
  expect(await colours()).not.toEqual(light)
})

test.each([
  { colorScheme: 'light', width: 360, locale: 'en-US' } as const,
  { colorScheme: 'dark', width: 1_280, locale: 'zh-CN' } as const,
  { colorScheme: 'light', width: 1_440, locale: 'zh-CN' } as const,
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
  await chooseForm(page, 'Alpha quiz')
  await page.locator('[name=counted][value=answer]').check()
  await valueShown(page, 'A')
  await page.locator('[name=span][value="90"]').check()
  await eventually(async () => (await page.locator('#numbers thead th').count()) === 93)
  const [table, card] = [await page.locator('.table').boundingBox(), await page.locator('#counts').boundingBox()]
  expect((table?.x ?? 0) + (table?.width ?? 0)).toBeLessThanOrEqual((card?.x ?? 0) + (card?.width ?? 0))
  expect(await page.locator('.table').evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true)
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
  const { text } = await api.send('/explore')
  const loaded = [...text.matchAll(/(?:href|src)="\.(\/[^"]+\.(?:js|css|svg))"/g)].map(([, path = '']) => path)
  const answers = await Promise.all(loaded.map((path) => api.send(path, { headers: { 'accept-encoding': 'gzip' } })))
  expect(new Set(loaded).size).toBe(3)
  expect(answers.reduce((sum, answer) => sum + Number(answer.headers['content-length']), 0)).toBeLessThan(120_000)
  expect((await api.send('/explore/')).status).toBe(401)
})
