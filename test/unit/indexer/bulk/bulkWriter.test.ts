import { setTimeout as sleep } from 'node:timers/promises'
import { errors } from '@elastic/elasticsearch'
import type { ItemOutcome } from '../../../../indexer/bulk/bulkFailure.ts'
import { BulkWriter } from '../../../../indexer/bulk/bulkWriter.ts'
import type { Outcome, StoredState } from '../../../../indexer/bulk/job.ts'
import type { DocumentWrite } from '../../../../indexer/convertRecord.ts'
import { failed, passed } from '../../../../src/core/monitoring/health.ts'
import { documentsOf, responseError } from '../../../support/bulkRecords.ts'
import { eventually } from '../../../support/eventually.ts'

type Send = (documents: readonly DocumentWrite[]) => Promise<ItemOutcome[]>

const written: ItemOutcome = { kind: 'written' }
const stale: ItemOutcome = { kind: 'stale' }
const rejected: ItemOutcome = { kind: 'reject', reason: 'refused' }
type Bounds = {
  readonly maxBulkBytes?: number
  readonly maxBulkDocuments?: number
  readonly maxRecordsPerSecond?: number
  /** What is stored of each list document that is asked for; by default what was sent. */
  readonly stored?: (list: DocumentWrite) => StoredState | undefined
  readonly random?: number
  /** Whether a shard takes writes; by default it does. */
  readonly acceptsWrites?: () => boolean
}

const stopping = new AbortController()
afterAll(() => stopping.abort())

/** A writer without waiting: no backoff is longer than 0 ms. Its clock stands still until it is moved. */
function writing(send: Send, bounds: Bounds = {}) {
  const clock = { nowMs: 0 }
  const outcomes: Promise<Outcome>[] = []
  const troubles: string[] = []
  const fatal: Error[] = []
  const requests: (readonly DocumentWrite[])[] = []
  /** How many requests there were at each wait. */
  const waits: number[] = []
  const writer = new BulkWriter({
    send: (documents) => {
      requests.push(documents)
      return send(documents)
    },
    maxBulkBytes: bounds.maxBulkBytes ?? 1_000_000,
    maxBulkDocuments: bounds.maxBulkDocuments ?? 1_000,
    readStored: async (lists) => lists.map(bounds.stored ?? (({ version, digest }) => ({ version, digest }))),
    acceptsWrites: async (documents) => documents.map(() => bounds.acceptsWrites?.() ?? true),
    maxRecordsPerSecond: bounds.maxRecordsPerSecond,
    elapsedMs: () => clock.nowMs,
    random: () => {
      waits.push(requests.length)
      return bounds.random ?? 0
    },
    signal: stopping.signal,
    onBlocked: (trouble) => troubles.push(trouble?.kind ?? 'over'),
    onFatal: (error) => fatal.push(error),
  })
  const submit = (
    entity: string,
    version: number,
    source?: string,
    reportsConflicts = true,
    team = 't',
  ): Promise<Outcome> => {
    const outcome = new Promise<Outcome>((done) =>
      writer.submit({
        ...{ documents: documentsOf(entity, version, source, team), reportsConflicts },
        ...{ name: () => `${entity}@${version}`, done },
      }),
    )
    outcomes.push(outcome)
    return outcome
  }
  return { writer, clock, submit, outcomes, troubles, fatal, requests, waits }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
/** Answers the requests one after the other; what is beyond the given is written. */
const answering = (...answers: (ItemOutcome[] | Error)[]): Send => {
  const left = [...answers]
  return async (documents) => {
    const answer = left.shift() ?? documents.map(() => written)
    if (answer instanceof Error) throw answer
    return answer
  }
}

test('records of one turn share a request, with only the newest record of an entity', async () => {
  const { submit, requests } = writing(answering())
  const outcomes = await Promise.all([submit('a', 1), submit('b', 1), submit('a', 3), submit('a', 2)])
  expect(outcomes.map(({ kind }) => kind)).toEqual(['stale', 'indexed', 'indexed', 'stale'])
  expect(requests.map((documents) => documents.map(({ id, version }) => `${id}@${version}`))).toEqual([
    ['t/a@3', 't/a@3', 't/b@1', 't/b@1'],
  ])
})

test('a record is indexed when one of its documents was stored, and stale when none was', async () => {
  const { submit } = writing(answering([written, stale], [stale, stale]))
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  expect(await submit('a', 1)).toEqual({ kind: 'stale' })
})

test('the record that stores the missing detail of an entity writes its list document again, over the same revision', async () => {
  const { submit, requests } = writing(answering([stale, written], [stale]))
  expect(await submit('a', 1, 'replayed')).toEqual({ kind: 'indexed' })
  const again = requests[1]?.map(({ kind, source, replacesSameVersion }) => [kind, String(source), replacesSameVersion])
  expect(again).toEqual([['forms', requests[0]?.[0]?.source.toString(), true]])
  expect(requests).toHaveLength(2)
})

test('only the document that is not stored yet is sent again', async () => {
  const { submit, requests, troubles } = writing(answering([written, { kind: 'retry', reason: 'busy' }]))
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  expect(requests[1]?.map(({ kind }) => kind)).toEqual(['form-details'])
  await turn()
  expect(troubles).toEqual(['retry', 'over'])
})

test('a record that waits after a failure does not keep the buffer of finished records in memory', async () => {
  const sharedBytes: number[] = []
  const { submit } = writing(async (documents) => {
    const [one] = documents
    sharedBytes.push((one?.source.buffer.byteLength ?? 0) - (one?.source.length ?? 0))
    return documents.map(() => (sharedBytes.length === 1 ? { kind: 'retry', reason: 'busy' } : written))
  })
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  const [atFirst, again] = sharedBytes
  expect(atFirst).toBeGreaterThan(0)
  expect(again).toBe(0)
})

test('while the shard of a team has no primary, its records are sent apart from others', async () => {
  const away: ItemOutcome = { kind: 'away', reason: 'no primary' }
  const answers: (() => void)[] = []
  let isAway = true
  const { submit, requests } = writing(async (documents) => {
    const isAsked = documents.some(({ teamId }) => teamId === 'away')
    if (isAsked && isAway) await new Promise<void>((resolve) => answers.push(resolve))
    return documents.map(({ teamId }) => (isAway && teamId === 'away' ? away : written))
  })
  const late = [submit('a', 1, undefined, true, 'away')]
  const mixed = submit('b', 1)
  await turn()
  // The first request finds out.
  answers.pop()?.()
  expect(await mixed).toEqual({ kind: 'indexed' })
  late.push(submit('c', 1, undefined, true, 'away'))
  for (const entity of ['d', 'e', 'f']) expect(await submit(entity, 1)).toEqual({ kind: 'indexed' })
  const teams = requests.slice(1).map((documents) => new Set(documents.map(({ teamId }) => teamId)).size)
  expect(new Set(teams)).toEqual(new Set([1]))
  expect(answers).toHaveLength(1)
  isAway = false
  answers.pop()?.()
  expect((await Promise.all(late)).map(({ kind }) => kind)).toEqual(['indexed', 'indexed'])
})

test('a request that is too large is halved until its parts fit, and a record that is too large alone is rejected', async () => {
  const { submit, requests } = writing(async (documents) => {
    if (documents.length > 4 || documents.some(({ id }) => id === 't/e6')) throw responseError(413)
    return documents.map(() => written)
  })
  const outcomes = await Promise.all(Array.from({ length: 7 }, (_, at) => submit(`e${at}`, 1)))
  expect(new Set(outcomes.slice(0, 6).map(({ kind }) => kind))).toEqual(new Set(['indexed']))
  expect(outcomes[6]).toEqual({ kind: 'rejected', reason: 'is larger than Elasticsearch takes at once' })
  expect(requests.slice(0, 7).map(({ length }) => length)).toEqual([14, 8, 4, 4, 6, 4, 2])
})

test('a document that Elasticsearch never has memory for together with others is sent alone, and rejected if that is too much', async () => {
  const split: ItemOutcome = { kind: 'split', reason: 'too large' }
  const { submit, requests } = writing(async (documents) =>
    documents.map(({ id }) => {
      if (id === 't/never') return split
      return id === 't/alone' && documents.length > 2 ? split : written
    }),
  )
  const outcomes = await Promise.all([submit('a', 1), submit('alone', 1), submit('never', 1)])
  expect(outcomes).toEqual([{ kind: 'indexed' }, { kind: 'indexed' }, { kind: 'rejected', reason: 'too large' }])
  expect(requests[0]).toHaveLength(6)
})

test.each<ItemOutcome>([
  { kind: 'split', reason: 'too large' },
  { kind: 'busy', reason: 'no room now' },
])('a record whose two documents do not fit together is stored one document at a time: %p', async (refusal) => {
  const { submit, requests } = writing(answering([refusal, refusal]))
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  expect(requests.map(({ length }) => length)).toEqual([2, 1, 1])
})

test('a record is rejected if its own request is malformed for Elasticsearch and those of others are not', async () => {
  const { submit } = writing(async (documents) => {
    if (documents.some(({ id }) => id === 't/b')) throw responseError(400)
    return documents.map(() => written)
  })
  const kinds = await Promise.all([submit('a', 1), submit('b', 1), submit('c', 1), submit('d', 1)])
  expect(kinds.map(({ kind }) => kind)).toEqual(['indexed', 'rejected', 'indexed', 'indexed'])
})

test('a document with repeated names is refused once, then stored at once with every name once', async () => {
  const { submit, requests, waits } = writing(async (documents) =>
    documents.map(({ source }) => (source.includes('"a":1') ? rejected : written)),
  )
  expect(await submit('a', 1, '{"a":1,"b":1.50,"a":2}')).toEqual({ kind: 'indexed' })
  expect(requests[1]?.map(({ source }) => source.toString())).toEqual(['{"a":2,"b":1.50}', '{"a":2,"b":1.50}'])
  expect(waits).toEqual([])
})

test('a bug stops the writer and is reported', async () => {
  const { submit, fatal } = writing(answering(new TypeError('a bug')))
  let isDone = false
  submit('a', 1).then(() => {
    isDone = true
  }, fatal.push)
  await turn()
  await turn()
  expect(isDone).toBe(false)
  expect(fatal.map(({ message }) => message)).toEqual(['a bug'])
})

test('an entity that changes a hundred thousand times during one request costs no more than others', async () => {
  const { submit, requests } = writing(answering())
  // Were it quadratic, this would take minutes, and an indexer would lose its partitions.
  const outcomes = Array.from({ length: 100_000 }, (_, at) => submit('a', 1 + (at % 2 === 0 ? at : 1)))
  const kinds = (await Promise.all(outcomes)).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === 'indexed')).toHaveLength(1)
  expect(requests).toHaveLength(1)
})

describe('a revision that is stored already', () => {
  test.each([
    ['the same content', { version: 3, digest: '{"a":1}' }, 'stale'],
    ['other content', { version: 3, digest: '{"a":2}' }, 'conflict'],
    ['a higher revision', { version: 4, digest: '{"a":2}' }, 'stale'],
    ['a deletion', { version: 2 ** 53 - 1, digest: undefined }, 'stale'],
  ])('with %s (%j) makes a record %s', async (_what, stored, kind) => {
    const { submit } = writing(answering([stale, stale]), { stored: () => stored })
    expect(await submit('a', 3, '{"a":1}')).toEqual({ kind })
  })

  test('all records of one request are compared at once', async () => {
    const asked: string[] = []
    const { submit } = writing(answering([stale, stale, written, written, stale, stale]), {
      stored: ({ id, version }) => {
        asked.push(id)
        return { version, digest: 'other' }
      },
    })
    const outcomes = await Promise.all(['a', 'b', 'c'].map((entity) => submit(entity, 1)))
    expect(outcomes.map(({ kind }) => kind)).toEqual(['conflict', 'indexed', 'conflict'])
    expect(asked).toEqual(['t/a', 't/c'])
  })

  test('with other content makes a record stale whose dead letter was written before', async () => {
    const { submit } = writing(answering([stale, stale]), { stored: () => ({ version: 1, digest: 'other' }) })
    expect(await submit('a', 1, '{"a":1}', false)).toEqual({ kind: 'stale' })
  })
})

describe('a document at which Elasticsearch always fails', () => {
  const suspect: ItemOutcome = { kind: 'suspect', reason: '500 exception' }
  const failingAt =
    (isBad: (document: DocumentWrite) => boolean): Send =>
    async (documents) =>
      documents.map((document) => (isBad(document) ? suspect : written))

  test('is rejected after a minute, also if nothing else is written', async () => {
    const { submit, clock, writer, requests } = writing(failingAt(({ id }) => id === 't/bad'))
    let isDone = false
    const bad = submit('bad', 7).finally(() => {
      isDone = true
    })
    const isTriedAgain = async (): Promise<void> => {
      const sent = requests.length
      await eventually(() => isDone || requests.length > sent + 2)
    }
    await isTriedAgain()
    clock.nowMs = 59_000
    await isTriedAgain()
    expect(isDone).toBe(false)
    expect(writer.health()).toEqual(failed('no progress for 59 s at bad@7: 500 exception'))
    expect(writer.blocked()?.forMs).toBe(59_000)
    clock.nowMs = 61_000
    expect(await bad).toEqual({ kind: 'rejected', reason: '500 exception' })
    expect(writer.health()).toEqual(passed)
  })

  test.each([
    ['wait behind it', 12, 0],
    ['come while it fails', 1, 1],
  ])(
    'is rejected a minute after its first failure, also when newer records that fail %s',
    async (_what, first, more) => {
      const { submit, clock } = writing(failingAt(({ id }) => id === 't/bad'))
      const outcomes = Array.from({ length: first }, (_, at) => submit('bad', at + 1))
      await submit('good', 1)
      while (clock.nowMs < 60_000) {
        clock.nowMs += 10_000
        if (more > 0) outcomes.push(submit('bad', outcomes.length + 1))
        await submit('good', clock.nowMs)
      }
      let isOver = false
      const rejected = Promise.all(outcomes).finally(() => {
        isOver = true
      })
      for (let revision = clock.nowMs; !isOver && revision < 70_000; revision++) {
        await submit('good', revision)
        await turn()
      }
      expect(isOver).toBe(true)
      expect(new Set((await rejected).map(({ kind }) => kind))).toEqual(new Set(['rejected']))
    },
  )

  test('is rejected for each assignment of its partition that has read it', async () => {
    const { submit, clock, requests } = writing(failingAt(({ id }) => id === 't/bad'))
    const readAgain = [submit('bad', 7), submit('bad', 7), submit('bad', 7)]
    await eventually(() => requests.length > 1)
    expect(await submit('good', 1)).toEqual({ kind: 'indexed' })
    clock.nowMs += 60_000
    expect(await Promise.all(readAgain)).toEqual(readAgain.map(() => ({ kind: 'rejected', reason: '500 exception' })))
  })

  test('waits for as long as its shard takes no writes', async () => {
    let isAway = true
    const { submit, clock, requests } = writing(
      failingAt(({ kind }) => isAway && kind === 'form-details'),
      { acceptsWrites: () => !isAway },
    )
    const outcomes = [submit('a', 1), submit('b', 1)]
    await eventually(() => requests.length > 10)
    clock.nowMs += 3_600_000
    const sent = requests.length
    await eventually(() => requests.length > sent + 10)
    isAway = false
    expect(await Promise.all(outcomes)).toEqual([{ kind: 'indexed' }, { kind: 'indexed' }])
  })
})

test('a failing record is reported for as long as it fails, even if others succeed', async () => {
  let isAway = true
  const { submit, writer, clock, troubles } = writing(async (documents) =>
    documents.map(({ id }) => (isAway && id === 't/a' ? { kind: 'retry', reason: '503 away' } : written)),
  )
  const first = submit('a', 1)
  expect(await submit('b', 1)).toEqual({ kind: 'indexed' })
  clock.nowMs += 30_000
  for (const entity of ['c', 'd', 'e']) expect(await submit(entity, 1)).toEqual({ kind: 'indexed' })
  expect(writer.health()).toEqual(failed('no progress for 30 s at a@1: 503 away'))
  expect(troubles).not.toContain('over')
  isAway = false
  expect(await first).toEqual({ kind: 'indexed' })
  expect(writer.health()).toEqual(passed)
})

test('no record waits for the backoff of others, even of as many as there may be requests in flight', async () => {
  const isStuck = ({ id }: DocumentWrite): boolean => id.startsWith('t/stuck')
  // Every backoff is as long as it may be.
  const { submit, requests } = writing(
    async (documents) => documents.map((each) => (isStuck(each) ? { kind: 'retry', reason: 'away' } : written)),
    { random: 1 },
  )
  const failing = []
  for (const entity of ['stuck-1', 'stuck-2']) {
    failing.push(submit(entity, 1))
    await eventually(() => requests.length === failing.length)
  }
  for (let revision = 1; revision <= 50; revision++) await submit('b', revision)
  expect(requests.filter((documents) => documents.some(isStuck)).length).toBeLessThan(10)
  expect(requests.length).toBeGreaterThanOrEqual(50)
  expect(await Promise.race([...failing, turn()])).toBeUndefined()
})

test('a record waits longer after each of its failures, even if others succeed', async () => {
  let attempts = 0
  const failing: Send = async (documents) =>
    documents.map(({ id, kind }) => {
      if (id !== 't/a') return written
      if (kind === 'forms') attempts++
      return { kind: 'retry', reason: 'away' }
    })
  const { submit } = writing(failing, { random: 1 })
  const startedMs = Date.now()
  const record = submit('a', 1)
  for (let revision = 1; attempts < 4; revision++) {
    await submit('b', revision)
    await sleep(1)
  }
  // 100, 200 and 400 ms; a timer may end a millisecond early.
  expect(Date.now() - startedMs).toBeGreaterThan(690)
  expect(await Promise.race([record, turn()])).toBeUndefined()
})

const busy: ItemOutcome = { kind: 'busy', reason: '429 es_rejected_execution_exception' }
test.each<[string, Send]>([
  ['one document is refused', async (documents) => documents.map((_, at) => (at === 0 ? busy : written))],
  ['a request is refused', () => Promise.reject(responseError(429))],
  ['a request is not answered in time', () => Promise.reject(new errors.TimeoutError('slow'))],
])(
  'an overloaded Elasticsearch gets smaller requests, one at a time, when %s, and larger ones again as they succeed',
  async (_what, refuse) => {
    let refusals = 3
    let underWay = 0
    const seen: { size: number; underWay: number }[] = []
    const { submit } = writing(
      async (documents) => {
        seen.push({ size: documents.length, underWay: ++underWay })
        await turn()
        underWay--
        return refusals-- > 0 ? await refuse(documents) : documents.map(() => written)
      },
      { maxBulkDocuments: 64 },
    )
    const outcomes = await Promise.all(Array.from({ length: 1_500 }, (_, at) => submit(`e${at}`, 1)))
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['indexed']))
    expect(seen.slice(0, 2)).toEqual([
      { size: 64, underWay: 1 },
      { size: 64, underWay: 2 },
    ])
    const afterwards = seen.slice(2, 10)
    expect(Math.min(...afterwards.map(({ size }) => size))).toBeLessThanOrEqual(16)
    expect(Math.max(...afterwards.map((each) => each.underWay))).toBe(1)
    const last = seen.slice(-10, -2)
    expect(Math.max(...last.map(({ size }) => size))).toBe(64)
    expect(Math.max(...last.map((each) => each.underWay))).toBe(2)
  },
)

test('no more records a second are sent than MAX_RECORDS_PER_SECOND allows', async () => {
  const startedMs = Date.now()
  const { submit } = writing(answering(), { maxRecordsPerSecond: 100 })
  const outcomes = await Promise.all(Array.from({ length: 50 }, (_, at) => submit(`e${at}`, 1)))
  // Ten at once, then ten every 100 ms; a timer may end a millisecond early.
  expect(Date.now() - startedMs).toBeGreaterThan(390)
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['indexed']))
})
