import type { ItemOutcome } from '../../../../indexer/bulk/bulkFailure.ts'
import { BulkQueue } from '../../../../indexer/bulk/bulkQueue.ts'
import { BulkScheduler } from '../../../../indexer/bulk/bulkScheduler.ts'
import type { Job } from '../../../../indexer/bulk/job.ts'
import { documentsOf } from '../../../support/bulkRecords.ts'
import { eventually } from '../../../support/eventually.ts'

type Bounds = {
  readonly maxBulkBytes?: number
  readonly maxBulkDocuments?: number
  readonly maxRecordsPerSecond?: number
}
type Sent = {
  readonly names: readonly string[]
  readonly jobs: readonly Job[]
  /** Ends the request: `failed` are to be sent again. */
  end(failed?: readonly Job[], hasResults?: boolean): Promise<void>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const stopping = new AbortController()
afterAll(() => stopping.abort())

/** A scheduler whose requests end when a test says so. No backoff takes time, unless told. */
function scheduling(bounds: Bounds = {}, random = 0, signal = stopping.signal) {
  const requests: Sent[] = []
  const fatal: Error[] = []
  const write = async (jobs: readonly Job[]) => {
    const { promise, resolve } = Promise.withResolvers<{ hasResults: boolean; failed: readonly Job[] }>()
    const end = async (failed: readonly Job[] = [], hasResults = true): Promise<void> => {
      for (const job of jobs) if (!failed.includes(job)) queue.finish(job)
      for (const job of failed) job.attempts++
      resolve({ hasResults, failed })
      await turn()
    }
    requests.push({ names: jobs.map((job) => job.name()), jobs, end })
    return await promise
  }
  const { maxRecordsPerSecond } = bounds
  const queue = new BulkQueue({ maxBulkBytes: 1_000_000, maxBulkDocuments: 1_000, ...bounds })
  const options = { maxRecordsPerSecond, random: () => random, signal, onFatal: (error: Error) => fatal.push(error) }
  const scheduler = new BulkScheduler(options, queue, { write })
  /** Hands over records as `entity@version`, or `team/entity@version`. */
  const submit = async (...records: readonly string[]): Promise<void> => {
    for (const record of records) {
      const [, team, entity = '', version] = /^(?:(\w+)\/)?(\w+)@(\d+)$/.exec(record) ?? []
      const documents = documentsOf(entity, Number(version), '{"a":1}', team)
      scheduler.submit({ documents, reportsConflicts: true, name: () => record, done: () => undefined })
    }
    await turn()
  }
  const names = () => requests.map((request) => request.names)
  return { scheduler, queue, requests, fatal, submit, names }
}
const many = (count: number, name = 'e'): string[] => Array.from({ length: count }, (_, at) => `${name}${at}@1`)

test('records of one turn share a request, and at most two requests are in flight', async () => {
  const { submit, names, requests } = scheduling()
  const all = submit('a@1', 'b@1')
  expect(names()).toEqual([])
  await all
  await submit('c@1')
  await submit('d@1')
  await submit('e@1')
  expect(names()).toEqual([['a@1', 'b@1'], ['c@1']])
  await requests[0]?.end()
  expect(names().slice(2)).toEqual([['d@1', 'e@1']])
})

test.each([
  ['documents', { maxBulkDocuments: 4 }],
  // The two documents of a record have 14 bytes.
  ['bytes', { maxBulkBytes: 28 }],
])('a request has no more %s than allowed, and waiting records are sent in order', async (_what, bounds) => {
  const { submit, names, requests } = scheduling(bounds)
  await submit('a@1', 'b@1', 'c@1', 'd@1', 'e@1')
  expect(names()).toEqual([
    ['a@1', 'b@1'],
    ['c@1', 'd@1'],
  ])
  await requests[0]?.end()
  expect(names()[2]).toEqual(['e@1'])
})

test.each([{ maxBulkDocuments: 1 }, { maxBulkBytes: 13 }])(
  'a record that is larger than %j goes alone',
  async (bounds) => {
    const { submit, names } = scheduling(bounds)
    await submit('a@1', 'b@1', 'c@1')
    expect(names()).toEqual([['a@1'], ['b@1']])
  },
)

test('only the newest waiting record of an entity is sent, in the place of the first, and none while another is in flight', async () => {
  const { submit, names, requests } = scheduling()
  await submit('a@1', 'b@1', 'a@3', 'a@2')
  expect(names()).toEqual([['a@3', 'b@1']])
  await submit('a@4', 'c@1', 'a@5')
  expect(names().slice(1)).toEqual([['c@1']])
  await requests[0]?.end()
  expect(names().slice(2)).toEqual([['a@5']])
})

test('of two records of one revision the first one is sent', async () => {
  const { scheduler, names } = scheduling()
  for (const name of ['first', 'second', 'third'])
    scheduler.submit({
      documents: documentsOf('a', 1),
      reportsConflicts: true,
      name: () => name,
      done: () => undefined,
    })
  await turn()
  expect(names()).toEqual([['first']])
})

test('a failed record is sent again, unless a newer record of its entity has come', async () => {
  const { submit, names, requests } = scheduling()
  await submit('a@1', 'b@1')
  await submit('b@2')
  await requests[0]?.end(requests[0].jobs)
  await eventually(() => requests.length === 2)
  expect(names()[1]).toEqual(['b@2', 'a@1'])
  expect(requests[1]?.jobs[0]?.superseded.map((job) => job.name())).toEqual(['b@1'])
})

test('records that failed equally often wait together, and those that failed more often wait longer', async () => {
  const { submit, names, requests } = scheduling({}, 1)
  await submit('a@1', 'b@1', 'c@1')
  const [a, b, c] = requests[0]?.jobs ?? []
  if (a === undefined || b === undefined || c === undefined) throw new Error('nothing was sent')
  b.attempts = 1
  const startedMs = performance.now()
  await requests[0]?.end([a, b, c])
  await eventually(() => requests.length === 2)
  expect(performance.now() - startedMs).toBeGreaterThan(190)
  expect(names()[1]).toEqual(['a@1', 'c@1'])
  await eventually(() => requests.length === 3)
  expect(performance.now() - startedMs).toBeGreaterThan(390)
  expect(names()[2]).toEqual(['b@1'])
})

test('after an accepted request the next one is sent before its failed records, and after a failed request they are sent first', async () => {
  const { submit, names, requests } = scheduling({ maxBulkDocuments: 2 }, 1)
  await submit('a@1', 'b@1', 'c@1')
  await requests[0]?.end(requests[0].jobs, true)
  expect(names()).toEqual([['a@1'], ['b@1'], ['c@1']])
  await submit('d@1')
  await requests[1]?.end(requests[1].jobs, false)
  expect(requests).toHaveLength(3)
  await eventually(() => requests.length > 3)
})

test('while Elasticsearch is overloaded, requests are smaller and one at a time', async () => {
  const { queue, submit, names, requests } = scheduling({ maxBulkDocuments: 16 })
  queue.halveBounds()
  queue.halveBounds()
  await submit(...many(20))
  expect(names().map(({ length }) => length)).toEqual([2])
  for (let times = 0; times < 20; times++) queue.halveBounds()
  await requests[0]?.end()
  expect(names().map(({ length }) => length)).toEqual([2, 1])
  // Of a 64th at least; each success widens by a 16th.
  for (let times = 0; times < 8; times++) queue.widenBounds(16, 0)
  await requests[1]?.end()
  expect(names().map(({ length }) => length)).toEqual([2, 1, 4])
  for (let times = 0; times < 8; times++) queue.widenBounds(16, 0)
  await requests[2]?.end()
  expect(names().map(({ length }) => length)).toEqual([2, 1, 4, 8, 5])
})

test.each([
  ['half of its documents', 8, 0, true],
  ['fewer documents', 7, 0, false],
  ['half of its bytes', 1, 50, true],
  ['fewer bytes', 1, 49, false],
])(
  'whether a request that used %s (%i documents, %i bytes) shows that larger ones succeed: %p',
  async (_what, documents, bytes, isWider) => {
    const { queue, submit, names } = scheduling({ maxBulkDocuments: 32, maxBulkBytes: 200 })
    queue.halveBounds()
    for (let times = 0; times < 8; times++) queue.widenBounds(documents * (1 + times / 8), bytes * (1 + times / 8))
    await submit('a@1')
    await submit('b@1')
    expect(names()).toHaveLength(isWider ? 2 : 1)
  },
)

describe('while the shard of a team has no primary', () => {
  const away: ItemOutcome = { kind: 'away', reason: 'no primary' }
  const written: ItemOutcome = { kind: 'written' }
  const note = ({ queue }: ReturnType<typeof scheduling>, team: string, ...outcomes: ItemOutcome[]): void =>
    queue.updateLanes(documentsOf('a', 1, '{}', team), outcomes)

  test('its records are sent apart, one request at a time, and others as before', async () => {
    const scheduled = scheduling()
    const { submit, names, requests } = scheduled
    note(scheduled, 'gone', away, written)
    await submit('gone/a@1', 'here/b@1')
    await submit('gone/c@1', 'here/d@1')
    expect(names()).toEqual([['gone/a@1'], ['here/b@1'], ['here/d@1']])
    await requests[0]?.end()
    expect(names()[3]).toEqual(['gone/c@1'])
  })

  test('records that waited already are moved there, and back once the shard has a primary', async () => {
    const scheduled = scheduling({ maxBulkDocuments: 4 })
    const { scheduler, submit, names, requests } = scheduled
    await submit(...many(4, 'first'))
    await submit('here/a@1', 'gone/b@1', 'here/c@1', 'gone/d@1')
    note(scheduled, 'gone', written, away)
    scheduler.run(Promise.resolve())
    await turn()
    expect(names().slice(2)).toEqual([['gone/b@1', 'gone/d@1']])
    await submit('gone/e@1', 'gone/b@2')
    note(scheduled, 'gone', written, written)
    note(scheduled, 'here', written, written)
    await requests[0]?.end()
    expect(names().slice(3)).toEqual([['here/a@1', 'here/c@1']])
    await requests[1]?.end()
    expect(names().slice(4)).toEqual([['gone/e@1']])
  })

  /** Ends all requests from this one on, also those that are sent meanwhile. */
  async function endFrom(first: number, { requests }: ReturnType<typeof scheduling>): Promise<void> {
    for (let at = first; at < requests.length; at++) await requests[at]?.end()
  }

  test('moved records are sent once', async () => {
    const scheduled = scheduling({ maxBulkDocuments: 4 })
    const { submit, names } = scheduled
    await submit(...many(4, 'first'))
    await submit('here/a@1', 'gone/b@1', 'gone/c@1')
    note(scheduled, 'gone', away, away)
    await endFrom(0, scheduled)
    expect(names().slice(2).flat().sort()).toEqual(['gone/b@1', 'gone/c@1', 'here/a@1'])
  })

  test('of an entity only the newest record is sent, which supersedes the earlier ones', async () => {
    const scheduled = scheduling()
    const { submit, names, requests } = scheduled
    note(scheduled, 'gone', away, away)
    await submit('gone/a@1')
    await submit('gone/b@2')
    await submit('gone/b@1', 'gone/b@3')
    await requests[0]?.end()
    expect(names()).toEqual([['gone/a@1'], ['gone/b@3']])
    expect(requests[1]?.jobs[0]?.superseded.map((job) => job.name()).sort()).toEqual(['gone/b@1', 'gone/b@2'])
  })

  test('a record of which only the detail is left waits with the others until a newer one supersedes it', async () => {
    const scheduled = scheduling({ maxBulkDocuments: 2 })
    const { queue, submit, names, requests } = scheduled
    await submit('gone/a@1')
    await submit('x@1', 'y@1')
    note(scheduled, 'gone', away, written)
    for (const job of requests[0]?.jobs ?? []) {
      job.documents = job.documents.slice(1)
      queue.putBack(job)
    }
    await submit('gone/a@2')
    expect(names()).toEqual([['gone/a@1'], ['x@1'], ['gone/a@2']])
    await endFrom(1, scheduled)
    expect(names().slice(3)).toEqual([['y@1']])
  })
})

test('a stopped scheduler sends nothing more and reports no error; any other error is reported', async () => {
  const stop = new AbortController()
  const { scheduler, submit, requests, fatal } = scheduling({}, 0, stop.signal)
  scheduler.run(Promise.reject(new Error('a bug')))
  await turn()
  expect(fatal.map(({ message }) => message)).toEqual(['a bug'])
  stop.abort()
  scheduler.run(Promise.reject(new Error('stopped')))
  await submit('a@1')
  expect([fatal.length, requests.length]).toEqual([1, 0])
})

test('a stop ends the backoff of failed records', async () => {
  const stop = new AbortController()
  const { scheduler, submit, requests } = scheduling({}, 1, stop.signal)
  await submit('a@1')
  const retried = scheduler.retryLater(requests[0]?.jobs.map((job) => ({ ...job, attempts: 5 })) ?? [])
  stop.abort()
  await expect(retried).rejects.toThrow('aborted')
})

test('no more records are sent at once, or over time, than MAX_RECORDS_PER_SECOND allows', async () => {
  const { submit, names, requests } = scheduling({ maxRecordsPerSecond: 40 })
  const startedMs = performance.now()
  await submit(...many(9))
  expect(names().map(({ length }) => length)).toEqual([4])
  await requests[0]?.end()
  expect(requests).toHaveLength(1)
  await eventually(() => requests.length === 2)
  expect(performance.now() - startedMs).toBeGreaterThan(95)
  await eventually(() => requests.length === 3)
  expect(names().map(({ length }) => length)).toEqual([4, 4, 1])
  const slow = scheduling({ maxRecordsPerSecond: 2 })
  await slow.submit(...many(3))
  expect(slow.names().map(({ length }) => length)).toEqual([1])
})
