import { pino } from 'pino'
import { AccountKeys } from '../../../indexer/accountKeys.ts'
import { type AppendPosition, appendPositionOf } from '../../../src/core/kafka/sourceRecord.ts'
import type { DocumentId } from '../../../src/core/model/ids.ts'

/** Account keys over a store that remembers what it was told to forget. `readings`: the keys that the topic names, each time it is read. */
function replaying({ stored = [] as string[], readings = [[]] as string[][], policy = 'compact' } = {}) {
  const state = { forgotten: [] as string[], readings: 0, completed: 0 }
  const over = new AbortController()
  const positionOf = (key: string): AppendPosition =>
    appendPositionOf({ partition: 0, offset: BigInt(stored.indexOf(key)) })
  const store = {
    beginReplay: async () => ({ complete: async () => ++state.completed > 0 }),
    readPositions: async () => new Map(stored.map((key) => [key as DocumentId, positionOf(key)])),
    forget: async (id: string, position: AppendPosition) => {
      expect(position).toBe(positionOf(id))
      return state.forgotten.push(id) > 0
    },
    contestedDigests: async () => [],
  }
  const source = {
    topicSettings: async () => (_topic: string, name: string) => (name === 'cleanup.policy' ? policy : '1000'),
    readTopic: async ({ onRecord }: { onRecord(record: unknown): Promise<void> }) => {
      const named = readings[state.readings++] ?? []
      // Values that no key can be read from.
      for (const key of named) await onRecord({ key: Buffer.from(key), value: Buffer.from('{') })
    },
  }
  const config = { TOPIC_ACCOUNT_KEYS: 'account-keys', TOPIC_FORMS: 'forms', TOPIC_SUBMISSIONS: 'submissions' }
  const deps = { config, source, store, log: pino({ level: 'silent' }), signal: over.signal }
  return { state, over, store, keys: new AccountKeys(deps as never) }
}

test('a run of Redis whose replay another process has completed is replayed once more', async () => {
  const runs = ['first', 'first', 'second', 'second']
  const { state, over, store, keys } = replaying()
  const runIfComplete = async (): Promise<string | undefined> => {
    if (runs.length === 1) over.abort()
    return runs.shift()
  }
  Object.assign(store, { runIfComplete })
  await keys.keepComplete()
  expect([state.readings, runs]).toEqual([1, []])
})

test('a replay removes keys that have no record any more, also if another record is unreadable', async () => {
  const { state, keys } = replaying({
    stored: ['acme/deleted', 'acme/kept'],
    readings: [
      ['acme/kept', 'acme/new'],
      ['acme/kept', 'acme/new'],
    ],
  })
  expect(await keys.replay()).toBe(2)
  expect(state).toEqual({ forgotten: ['acme/deleted'], readings: 2, completed: 1 })
})

test('a key whose record compaction removed during the replay stays, because it has a later record', async () => {
  const { state, keys } = replaying({ stored: ['acme/moved'], readings: [['acme/kept'], ['acme/kept', 'acme/moved']] })
  await keys.replay()
  expect(state).toEqual({ forgotten: [], readings: 2, completed: 1 })
})

test('a topic that has lost its records removes no key, and the store does not become complete', async () => {
  const { state, keys } = replaying({ stored: ['acme/k1', 'acme/k2'], readings: [['acme/k3']] })
  await expect(keys.replay()).rejects.toThrow('account-keys has 1 records and none of 2 keys: was it lost?')
  expect(state).toEqual({ forgotten: [], readings: 1, completed: 0 })
})

test('a key without a record is kept if the topic also deletes by time', async () => {
  const { state, keys } = replaying({ stored: ['acme/k1'], readings: [['acme/k2', 'acme/k3']], policy: 'delete' })
  await keys.replay()
  expect(state).toEqual({ forgotten: [], readings: 1, completed: 1 })
})
