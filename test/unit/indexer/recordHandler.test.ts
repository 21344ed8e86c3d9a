import { assignPartition } from '../../../indexer/assignedPartition.ts'
import type { Outcome, RecordWrite } from '../../../indexer/bulk/job.ts'
import { sameRevision } from '../../../indexer/deadLetters/deadLetters.ts'
import { unreadLog } from '../../../indexer/logReplacement.ts'
import { RecordHandler } from '../../../indexer/recordHandler.ts'
import { noHeaders } from '../../../src/core/kafka/recordHeaders.ts'
import type { SourceRecord } from '../../../src/core/kafka/sourceRecord.ts'
import { toOffset } from '../../../src/core/model/ids.ts'
import type { Problem } from '../../../src/core/model/schema.ts'
import { testConfig } from '../../support/config.ts'
import { formEntity } from '../../support/entities.ts'

const config = testConfig({ ELASTICSEARCH_URL: 'http://127.0.0.1:9', REDIS_URL: 'redis://127.0.0.1:9' })
const deadLetteredBelow = toOffset('5')
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A handler of one partition of `topic`. Its documents and dead letters are acknowledged when a test says so. */
function handling({ isRebuild = false, topic = config.TOPIC_FORMS } = {}) {
  const start = { position: toOffset('0'), deadLetteredBelow, coveredUntilMs: 0, log: unreadLog }
  const assigned = assignPartition({ topic, partition: 0 }, start, () => 1)
  const written: RecordWrite[] = []
  const letters: { readonly problem: Problem; readonly answer: PromiseWithResolvers<'dead-letter' | 'stale'> }[] = []
  const key = Promise.withResolvers<'indexed'>()
  const seen = { accepted: 0, conflicts: 0, processed: 0, counted: [] as string[], failures: [] as unknown[] }
  const stopping = new AbortController()
  const serving = {
    deadLetters: {
      noteAccepted: () => void seen.accepted++,
      reject: (_record: SourceRecord, problem: Problem) => {
        const answer = Promise.withResolvers<'dead-letter' | 'stale'>()
        letters.push({ problem, answer })
        return answer.promise
      },
    },
    accountKeys: { apply: () => key.promise },
  }
  const handler = new RecordHandler({
    config,
    metrics: {
      records: { inc: ({ outcome }: { outcome: string }) => seen.counted.push(outcome) },
      revisionConflicts: { inc: () => seen.conflicts++ },
    } as never,
    writer: { submit: (write) => void written.push(write) },
    publisher: { noteWrite: () => undefined },
    serving: isRebuild ? undefined : serving,
    signal: stopping.signal,
    fail: (error) => seen.failures.push(error),
  })
  const handle = (value: object | null, offset = '7'): void => {
    const record = {
      ...{ topic, partition: 0, offset: toOffset(offset), appendedAtMs: 0 },
      ...{ key: Buffer.from('acme/f1'), value: value && Buffer.from(JSON.stringify(value)), headers: noHeaders },
    }
    handler.handle(record, assigned, () => void seen.processed++)
  }
  return { handler, handle, assigned, written, letters, key, seen, stopping }
}
const valid = { revision: 1, form: formEntity({ id: 'f1' }) }

test.each<[string, Outcome, Problem]>([
  ['cannot store', { kind: 'rejected', reason: 'too deep' }, { path: 'document', rule: 'too deep' }],
  ['has stored with other content', { kind: 'conflict' }, sameRevision],
])('a record that Elasticsearch %s counts once its dead letter is written', async (_, outcome, problem) => {
  const { handle, written, letters, seen } = handling()
  handle(valid)
  written[0]?.done(outcome)
  await turn()
  expect([letters[0]?.problem, seen.processed]).toEqual([problem, 0])
  letters[0]?.answer.resolve('dead-letter')
  await turn()
  expect(seen).toMatchObject({ accepted: 0, conflicts: outcome.kind === 'conflict' ? 1 : 0, processed: 1 })
  expect(seen.counted).toEqual(['dead-letter'])
})

test.each(['indexed', 'stale'] as const)('a record that is %s counts as accepted', (kind) => {
  const { handle, written, seen } = handling()
  handle(valid)
  expect(seen.processed).toBe(0)
  written[0]?.done({ kind })
  expect(seen).toMatchObject({ accepted: 1, processed: 1, counted: [kind] })
})

test('conflicts are reported from the last dead letter of the partition on, and by no rebuild', () => {
  const reported = [false, true].map((isRebuild) => {
    const { handle, written } = handling({ isRebuild })
    for (const offset of ['4', '5']) handle(valid, offset)
    return written.map(({ reportsConflicts }) => reportsConflicts)
  })
  expect(reported).toEqual([
    [false, true],
    [false, false],
  ])
})

test('the dead letter of a record is left to the next owner of its partition', () => {
  const { handle, assigned, letters, seen } = handling()
  assigned.endAssignment()
  handle({ revision: 1 })
  expect([letters, seen.counted, seen.processed]).toEqual([[], ['stale'], 1])
})

test('a rebuild writes no dead letter, and remembers the highest offset that it rejected', () => {
  const { handle, handler, seen } = handling({ isRebuild: true })
  for (const offset of ['9', '3']) handle({ revision: 1 }, offset)
  expect([...handler.rejectedBelow]).toEqual([[`${config.TOPIC_FORMS}/0`, 10n]])
  expect([seen.counted, seen.processed]).toEqual([['stale', 'stale'], 2])
})

test('an account key counts once it is applied; a rebuild leaves it to the live indexers', async () => {
  const topic = config.TOPIC_ACCOUNT_KEYS
  const live = handling({ topic })
  live.handle(null)
  await turn()
  expect(live.seen.processed).toBe(0)
  live.key.resolve('indexed')
  await turn()
  expect(live.seen).toMatchObject({ accepted: 1, processed: 1, counted: ['indexed'] })
  const rebuild = handling({ topic, isRebuild: true })
  rebuild.handle(null)
  expect(rebuild.seen).toMatchObject({ accepted: 0, processed: 1, counted: ['stale'] })
})

test('a dead letter that fails stops the pipeline, unless it is stopping', async () => {
  const { handle, letters, seen, stopping } = handling()
  handle({ revision: 1 })
  handle({ revision: 1 })
  letters[0]?.answer.reject('a bug')
  await turn()
  stopping.abort()
  letters[1]?.answer.reject('stopped')
  await turn()
  expect([seen.failures, seen.processed]).toEqual([['a bug'], 0])
})
