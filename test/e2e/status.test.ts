import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { barriersOn, overhangOf, useBrowser } from '../support/browser.ts'
import type { ChangePage } from '../support/changeFeed.ts'
import { eventually } from '../support/eventually.ts'
import { untilServes } from '../support/indexingProgress.ts'
import { ownNames } from '../support/names.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import { randomHistory, stateRecord } from '../support/randomHistory.ts'

const history = randomHistory(31, 600)
const deadLetters = history.records.filter(({ isDeadLetter }) => isDeadLetter).length
const flowPauseMs = 300

/** Ended before the pipeline is closed that it writes through. */
const over = new AbortController()
let flowing: Promise<void> | undefined
afterAll(async () => {
  over.abort()
  await flowing
})
const pipeline = usePipeline()
const { visit } = useBrowser()
let first: Program
let second: Program
/** Without Elasticsearch. */
let stranded: Program

beforeAll(async () => {
  first = await pipeline.startIndexer()
  await pipeline.produceHistory(history.records)
  await eventually(async () => (await first.metric('tidemark_records_total')) === history.records.length)
  await eventually(async () => (await first.metric('tidemark_lag_records')) === 0)
  second = await pipeline.startIndexer()
  stranded = await startProgram('indexer', { ...ownNames(), ELASTICSEARCH_URL: 'http://127.0.0.1:1' })
  flowing = flow()
})

/** A form that changes again and again. */
async function flow(): Promise<void> {
  for (let revision = 1; !over.signal.aborted; revision++) {
    await pipeline.produce('forms', [stateRecord('forms', 'acme/flowing', revision)])
    await sleep(flowPauseMs, undefined, { signal: over.signal }).catch(() => undefined)
  }
}

const statusOf = ({ adminUrl }: Program): string => `${adminUrl}/status`
const figure = (page: Page, title: string): Promise<string> =>
  page.locator('.tile', { hasText: title }).locator('.figure').innerText()
const causes = (page: Page): Promise<string> => page.locator('.causes').innerText()
const owners = (page: Page): Promise<string[]> => page.locator('.topics td:last-child').allInnerTexts()
/** Loads the page again until it shows what is expected. */
const untilShown = (page: Page, isShown: () => Promise<boolean>): Promise<void> =>
  eventually(async () => {
    await page.reload()
    return await isShown()
  })
const seenAt = async (page: Page): Promise<string> => (await page.locator('.seen time').getAttribute('datetime')) ?? ''
async function untilRefreshed(page: Page): Promise<void> {
  const before = await seenAt(page)
  await eventually(async () => (await seenAt(page)) > before)
}

test('one of two indexers shows the work of both, and which partitions it reads itself', async () => {
  const { page, complaints, requested } = await visit()
  await page.goto(`${statusOf(second)}?refresh=off`)
  expect(await page.locator('h1').innerText()).toMatch(/^Ready/)
  await untilShown(page, async () => /^\d+ s|^\d\.\d s/.test(await figure(page, 'Watermark age')))
  // A record is rejected twice if the group rebalances before the first time is committed.
  const letters = await pipeline.deadLetters(deadLetters)
  await untilShown(page, async () => (await figure(page, 'Dead letters')) === String(letters.length))
  expect(Number(await figure(page, 'Records behind'))).toBeLessThan(20)

  await untilShown(page, async () => new Set(await owners(page)).size === 2)
  const read = await owners(page)
  expect(read).toHaveLength(12)
  expect(read.filter((owner) => /^[12], this$/.test(owner))).not.toHaveLength(0)
  expect(read).not.toContain('none')
  await untilShown(page, async () => (await causes(page)).startsWith('All is well: everything up to '))
  const indexers = page.locator('.indexers tbody tr')
  expect(await indexers.count()).toBe(2)
  for (const row of await indexers.allInnerTexts())
    expect(row).toMatch(/127\.0\.0\.1.*\s.*(forms|submissions|account-keys)\S* [\d–, ]+.*\s(\d+\.)?\d+ s ago/s)
  expect(await indexers.filter({ hasText: 'this' }).count()).toBe(1)
  expect(await page.locator('.rebuild').innerText()).toMatch('No rebuild runs.')

  await untilShown(page, async () => (await page.locator('.indices tbody tr').count()) === 4)
  const submissions = page.locator('.indices tbody tr', { hasText: `${pipeline.names.INDEX_PREFIX}-submissions-v` })
  const { count } = await pipeline.elasticsearch.count({ index: `${pipeline.names.INDEX_PREFIX}-submissions` })
  expect(await submissions.locator('td').first().innerText()).toBe(String(count))
  expect(await page.locator('h1 .badge').innerText()).toBe('every check is ok')

  expect(complaints).toEqual([])
  expect(requested.filter((url) => !url.startsWith(second.adminUrl))).toEqual([])
})

test('the page refreshes itself unless paused', async () => {
  const { page, complaints } = await visit()
  await page.goto(`${second.adminUrl}/`)
  expect(page.url()).toBe(statusOf(second))
  await untilRefreshed(page)
  await page.getByRole('link', { name: 'Pause' }).press('Enter')
  await page.getByText('Paused').waitFor()
  expect(await page.locator('script, meta[http-equiv]').count()).toBe(0)
  expect(complaints).toEqual([])
})

test('it refreshes itself without JavaScript', async () => {
  const { page } = await visit({ javaScriptEnabled: false })
  await page.goto(statusOf(second))
  await untilRefreshed(page)
})

test('a refresh keeps the focus, the scroll position and what a screen reader reads, and announces nothing', async () => {
  const { page, complaints } = await visit({ viewport: { width: 800, height: 300 } })
  await page.goto(statusOf(second))
  await page.getByRole('link', { name: 'Pause' }).focus()
  await page.evaluate(`
    scrollTo(0, 150)
    globalThis.announced = []
    const observer = new MutationObserver((changes) => announced.push(...changes.map(({ target }) => target.textContent)))
    for (const region of document.querySelectorAll('[role=status], [role=alert], [aria-live]'))
      observer.observe(region, { subtree: true, childList: true, characterData: true })
    globalThis.read = document.querySelector('.topics tbody tr')`)
  const title = await page.title()
  await untilRefreshed(page)
  expect(await page.locator(':focus').innerText()).toBe('Pause')
  expect(await page.evaluate('[scrollY, announced, read.isConnected]')).toEqual([150, [], true])
  expect(title).toBe('Ready – Tidemark status')
  expect(await page.title()).toBe(title)
  expect(await barriersOn(page)).toEqual([])
  expect(complaints).toEqual([])
})

test('the page says since when it has no answer, until it has one', async () => {
  const { page } = await visit()
  await page.goto(statusOf(second))
  await page.route('**/status', (route) => route.abort())
  const note = page.getByRole('status')
  await note.getByText(/^No answer since \d\d:\d\d:\d\d UTC$/).waitFor()
  await page.unroute('**/status')
  await note.getByText('Refreshes every 5 s').waitFor()
})

test('an interrupted rebuild is shown until another run has finished it', async () => {
  const { page } = await visit()
  await page.goto(statusOf(second))
  const slowly = { ...pipeline.names, MAX_RECORDS_PER_SECOND: '30' }
  const killed = await startProgram('rebuild', slowly)
  const helper = await startProgram('rebuild', slowly, ['--member', '1'])
  const shown = (text: RegExp) => eventually(async () => text.test(await page.locator('.rebuild').innerText()))
  await shown(
    /It builds generation 2\..*2 of 5: reads the topics\s+Records read\s+[\d,]+ of [\d,]+\s.*Members that help\s+\d\s+Last sign of life/s,
  )
  await eventually(async () => (await second.metric('tidemark_rebuild_progress_ratio')) > 0.6)
  await killed.end('SIGKILL')
  await helper.end('SIGKILL')
  const left = page.getByText('A rebuild was left half way')
  await left.waitFor()
  const half = / ([5-9]\d|100) % of the records are in the next generation/
  expect(await page.locator('.rebuild').innerText()).toMatch(half)
  expect(await page.locator('.rebuild').innerText()).toMatch(
    /Ended in phase\s+2 of 5.*Last sign of life\s+\d+ s ago, at /s,
  )
  expect(await causes(page)).toMatch(/A rebuild has ended half way; its last sign of life was at .*: run it again\./)
  expect(await second.metric('tidemark_rebuild_running')).toBe(0)
  expect(await second.metric('tidemark_rebuild_progress_ratio')).toBeGreaterThan(0.5)
  await page.goto(`${statusOf(second)}?refresh=off`)
  expect(await barriersOn(page)).toEqual([])
  await page.goto(statusOf(second))
  await untilServes(await startProgram('rebuild', pipeline.names))
  await left.waitFor({ state: 'detached' })
  await page.getByText('Generation 2 is written').waitFor()
  await shown(/No rebuild runs/)
})

test('the followers of the change feed are shown, and how far they have read', async () => {
  await pipeline.createKeys(['acme'])
  const api = await pipeline.startApi()
  await pipeline.untilApplied(api, 'acme')
  for (let query = '', hasMore = true; hasMore; ) {
    const { body } = await pipeline.get(api, 'acme', `/api/v1/form-changes${query}`)
    const page: ChangePage = body
    query = `?cursor=${page.cursor}`
    hasMore = page.hasMore
  }
  // An API shares the uses of keys when it stops.
  await api.end('SIGTERM')
  const { page } = await visit()
  await page.goto(`${statusOf(first)}?refresh=off`)
  await untilShown(page, async () => (await page.locator('.followers').innerText()).includes('1 key asked for changes'))
  expect(await page.locator('.followers tbody tr').allInnerTexts()).toEqual([
    expect.stringMatching(/^acme\/k1\s+forms\s+(\d+\.)?\d+ s ago\s+\d\d:\d\d:\d\d$/),
  ])
})

test('a block of writes in Elasticsearch is named as the cause, with the record that waits, until it is gone', async () => {
  const { page } = await visit()
  await page.goto(`${statusOf(second)}?refresh=off`)
  const index = `${pipeline.names.INDEX_PREFIX}-form*`
  const block = (isBlocked: boolean | null) =>
    pipeline.elasticsearch.indices.putSettings({ index, settings: { 'index.blocks.write': isBlocked } })
  await block(true)
  const blocked =
    /^Elasticsearch refuses writes since \d\d:\d\d:\d\d: a block was set \(403 cluster_block_exception\)\. The record that waits longest is \S+-forms\/\d\/\d+\./
  // Only the indexer of its partition knows the record; the other one names the partition.
  await eventually(async () => {
    const [one, other] = [statusOf(first), statusOf(second)]
    for (const url of [one, other]) {
      await page.goto(`${url}?refresh=off`)
      if (blocked.test(await causes(page))) return true
    }
    return false
  })
  expect(await barriersOn(page)).toEqual([])
  await block(null)
  await untilShown(page, async () => (await causes(page)).startsWith('All is well'))
})

describe.each([
  ['light-narrow', { viewport: { width: 320, height: 700 }, colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['wide', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' }],
] as const)('the page is accessible, %s', (_look, options) => {
  const expectGood = async (program: Program, heading: RegExp): Promise<void> => {
    const { page, complaints } = await visit(options)
    await page.goto(`${statusOf(program)}?refresh=off`)
    expect(await page.locator('h1').innerText()).toMatch(heading)
    expect(await barriersOn(page)).toEqual([])
    expect(await overhangOf(page)).toBe(0)
    expect(complaints).toEqual([])
  }

  test('while records flow', async () => {
    await untilReady(second)
    await expectGood(second, /^Ready/)
  })

  test('while Elasticsearch is away', async () => {
    await eventually(async () => (await fetch(statusOf(stranded)).catch(() => undefined))?.ok === true)
    await eventually(async () => (await (await fetch(statusOf(stranded))).text()).includes('preparing indices'))
    const { page } = await visit(options)
    await page.goto(`${statusOf(stranded)}?refresh=off`)
    expect(await causes(page)).toMatch(/^Elasticsearch does not answer: /)
    await expectGood(stranded, /^Not ready/)
  })
})
