import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { formEntity, submissionEntity } from '../support/entities.ts'
import type { Json } from '../support/randomHistory.ts'
import { servedFormSummary, servedSubmissionSummary } from '../support/served.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines } from './support/warehouse.ts'

const team = 'acme'
/** Half a surrogate pair, and every character that some reader takes for the end of a line. */
const text = `thanks \ud83d \v\f\x1c\x1d\x1e\u0085\u2028\u2029 \ude00\r\n`
const form = formEntity({ id: 'f1', title: text, localization: { [`x${text}`]: text } })
/** Two names are one when each half of a pair is U+FFFD: the last value counts. */
const data = { q1: text, 'q\ud83d': 'first', [`a${text}`]: [text], 'q\ude00': 'last' }
const submission = submissionEntity({ id: 's1', examinee: { name: text, customData: { [`c${text}`]: text } }, data })

const { tools, pipeline, api } = usePythonPipeline()
beforeAll(async () => {
  await pipeline.createKeys([team])
  await pipeline.produce('forms', [{ key: `${team}/f1`, value: JSON.stringify({ revision: 1, form }) }])
  await pipeline.produce('submissions', [{ key: `${team}/s1`, value: JSON.stringify({ revision: 1, submission }) }])
  await pipeline.untilApplied(api, team)
})

const lists: readonly [path: string, item: Json][] = [
  ['/forms', servedFormSummary(form)],
  ['/records', servedSubmissionSummary(submission)],
]

test.each(lists)("Node's readline reads one line per item of %s", async (path, item) => {
  const headers = { authorization: `Bearer ${pipeline.keyOf(team)}`, accept: 'application/x-ndjson' }
  const { body } = await fetch(`${api.url}/api/v1${path}`, { headers })
  const lines = createInterface({
    input: Readable.fromWeb(body as ReadableStream),
    crlfDelay: Number.POSITIVE_INFINITY,
  })
  const read: Json[] = []
  for await (const line of lines) read.push(JSON.parse(line))
  expect(read).toEqual([item])
})

describePython('Python', () => {
  test.each(lists)(
    'reads %s with httpx, splitlines and csv: one line of strict JSON, or one row, per item',
    async (path, item) => {
      const said = await tools.runScript('test/foreign/python/read_lines.py', [path], {
        TIDEMARK_URL: `${api.url}/api/v1`,
        TIDEMARK_KEY: pipeline.keyOf(team),
      })
      expect(jsonLines(said)).toEqual([item])
    },
  )
})
