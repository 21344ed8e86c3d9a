import { pino } from 'pino'
import { AccountKeys } from '../../../indexer/accountKeys.ts'

test('a run of Redis that another process has completed is replayed into once more', async () => {
  const runs = ['first', 'first', 'second', 'second']
  const over = new AbortController()
  let replays = 0
  const store = {
    completeRun: async () => {
      if (runs.length === 1) over.abort()
      return runs.shift()
    },
    beginReplay: async () => ({ complete: async () => true }),
    contested: async () => [],
  }
  const source = { readTopic: async () => void replays++ }
  const deps = { config: {}, source, store, log: pino({ level: 'silent' }), signal: over.signal }
  await new AccountKeys(deps as never).keepComplete()
  expect([replays, runs]).toEqual([1, []])
})
