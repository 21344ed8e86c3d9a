import { request as send } from 'undici'
import type { Comparison, Contender } from '../comparison.ts'
import { exportRequest } from '../http.ts'
import { cpuUsBetween, type HttpRequest } from '../load.ts'
import type { Figures, Section } from '../report.ts'
import type { Stage } from '../stage.ts'
import { startBare } from './bareProcesses.ts'
import { readingFeed } from './feeds.ts'
import { bareRequest, type Lists } from './lists.ts'

const deadlineMs = 600_000
const lineBreak = 10

const names = {
  loop: 'bare search_after loop',
  summaries: 'summaries',
  whole: 'view=full',
  feed: 'change feed, 1,000 rows a page',
  wholeFeed: 'change feed, view=full',
} as const

/** `view=full` may take 1.6 times as long as summaries, and a change feed 1.25 times as long as an export. */
const section: Section = {
  title: 'A whole list: exports as NDJSON and the change feed beside a bare loop',
  measure: 'rows a second',
  rows: [
    { label: names.loop, of: names.loop },
    { label: names.summaries, of: names.summaries, to: { label: 'loop', of: names.loop, goal: { atLeast: 0.8 } } },
    {
      label: names.whole,
      of: names.whole,
      to: { label: 'summaries', of: names.summaries, goal: { atLeast: 1 / 1.6 } },
    },
    { label: names.feed, of: names.feed, to: { label: 'summaries', of: names.summaries, goal: { atLeast: 0.8 } } },
    {
      label: names.wholeFeed,
      of: names.wholeFeed,
      to: { label: 'view=full', of: names.whole, goal: { atLeast: 0.8 } },
    },
  ],
}

/** Whole lists of `rows` submissions, as the API exports them and as a bare loop reads them. */
export async function compareExports(lists: Lists, rows: number, stage: Stage): Promise<Comparison<Figures>> {
  const loopArgs = [stage.urls.ELASTICSEARCH_URL, lists.index, lists.teamId]
  const loopOrigin = await startBare(stage, 'bareLoop', loopArgs, [bareRequest('/')])
  const contender = (name: string, origin: string, request: HttpRequest): Contender<Figures> => ({
    name,
    run: () => readLines(origin, request, rows, stage),
  })
  return {
    contenders: [
      contender(names.loop, loopOrigin, bareRequest('/rows')),
      contender(names.summaries, lists.apiOrigin, exportRequest(lists.accountKey, { view: 'summary' })),
      contender(names.whole, lists.apiOrigin, exportRequest(lists.accountKey, { view: 'full' })),
      readingFeed(names.feed, lists, 'summary', rows, stage),
      readingFeed(names.wholeFeed, lists, 'full', rows, stage),
    ],
    sections: [section],
  }
}

/** Reads an answer to its end. Rejects unless it has `expected` lines. */
export async function readLines(
  origin: string,
  { method, path, headers, expectedStatus }: HttpRequest,
  expected: number,
  { cpuMsOf, signal }: Stage,
): Promise<Figures> {
  const [before, beganMs] = [cpuMsOf(origin), performance.now()]
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  const { statusCode, body } = await send(origin + path, { method, headers, signal: bounded })
  if (statusCode !== expectedStatus) throw new Error(`${path} answers ${statusCode}: ${await body.text()}`)
  let lines = 0
  for await (const chunk of body as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(lineBreak); at !== -1; at = chunk.indexOf(lineBreak, at + 1)) lines++
  if (lines !== expected) throw new Error(`${path} has ${lines} rows instead of ${expected}`)
  const elapsedMs = performance.now() - beganMs
  return { perSecond: (1_000 * lines) / elapsedMs, count: lines, ...cpuUsBetween(before, cpuMsOf(origin), lines) }
}
