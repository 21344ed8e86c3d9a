import { errors } from '@elastic/elasticsearch'
import { MalformedBulkResponse } from '../../../../indexer/bulk/bulkApi.ts'
import type { ItemOutcome } from '../../../../indexer/bulk/bulkFailure.ts'
import { BulkWriter, type Outcome } from '../../../../indexer/bulk/bulkWriter.ts'
import type { DocumentId, Revision, TeamId } from '../../../../src/core/model/ids.ts'
import type { DocumentWrite } from '../../../../src/core/stores/documents.ts'
import { eventually } from '../../../support/eventually.ts'

type Send = (documents: readonly DocumentWrite[]) => Promise<ItemOutcome[]>

const written: ItemOutcome = { kind: 'written' }
const rejected: ItemOutcome = { kind: 'reject', reason: 'refused' }
const documentsOf = (entity: string, version: number, source = '{"a":1}'): DocumentWrite[] =>
  (['forms', 'form-details'] as const).map((kind) => ({
    kind,
    id: `t/${entity}` as DocumentId,
    teamId: 't' as TeamId,
    version: version as Revision,
    source: Buffer.from(source),
  }))
const responseError = (statusCode: number): Error =>
  new errors.ResponseError({ statusCode, body: {}, headers: {}, warnings: null, meta: {} as never })

/** A writer without waiting: no backoff is longer than 0 ms. */
function writing(send: Send, bounds: { maxBulkBytes?: number; maxBulkDocuments?: number } = {}) {
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
    maxConcurrentRequests: 2,
    random: () => {
      waits.push(requests.length)
      return 0
    },
    signal: new AbortController().signal,
    onBlocked: (trouble) => troubles.push(trouble?.kind ?? 'over'),
    onFatal: (error) => fatal.push(error),
  })
  const submit = (entity: string, version: number, source?: string): Promise<Outcome> => {
    const outcome = new Promise<Outcome>((done) =>
      writer.submit({ documents: documentsOf(entity, version, source), version: version as Revision, done }),
    )
    outcomes.push(outcome)
    return outcome
  }
  return { submit, outcomes, troubles, fatal, requests, waits }
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

test('records of one turn share a request, and the newest of an entity goes alone', async () => {
  const { submit, requests } = writing(answering())
  const outcomes = await Promise.all([submit('a', 1), submit('b', 1), submit('a', 3), submit('a', 2)])
  expect(outcomes.map(({ kind }) => kind)).toEqual(['stale', 'indexed', 'indexed', 'stale'])
  expect(requests.map((documents) => documents.map(({ id, version }) => `${id}@${version}`))).toEqual([
    ['t/a@3', 't/a@3', 't/b@1', 't/b@1'],
  ])
})

test('a record is indexed when one of its documents was stored, and stale when none was', async () => {
  const { submit } = writing(answering([{ kind: 'stale' }, written], [{ kind: 'stale' }, { kind: 'stale' }]))
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  expect(await submit('a', 1)).toEqual({ kind: 'stale' })
})

test('only the document that is not stored yet is sent again', async () => {
  const { submit, requests, troubles } = writing(answering([written, { kind: 'retry', reason: 'busy' }]))
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  expect(requests[1]?.map(({ kind }) => kind)).toEqual(['form-details'])
  await turn()
  expect(troubles).toEqual(['retry', 'over'])
})

test.each([
  ['no answer', new errors.ConnectionError('away'), 'retry'],
  ['a response that does not match', new MalformedBulkResponse('1 items for 2 documents'), 'retry'],
  ['an overloaded engine', responseError(503), 'retry'],
  ['missing rights', responseError(403), 'pause'],
])('%s is waited out', async (_, failure, trouble) => {
  const { submit, troubles, waits } = writing(answering(failure, failure))
  expect(await submit('a', 1)).toEqual({ kind: 'indexed' })
  await turn()
  expect(waits).toEqual([1, 2])
  expect(troubles).toEqual([trouble, trouble, 'over'])
})

test('a request that is too large is halved until its parts fit', async () => {
  const { submit, requests } = writing(async (documents) => {
    if (documents.length > 4) throw responseError(413)
    return documents.map(() => written)
  })
  const outcomes = await Promise.all(Array.from({ length: 7 }, (_, at) => submit(`e${at}`, 1)))
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['indexed']))
  expect(requests.map(({ length }) => length)).toEqual([14, 8, 4, 4, 6, 4, 2])
})

test('a single record that is too large is rejected, and the others of its request are stored', async () => {
  const { submit } = writing(async (documents) => {
    if (documents.some(({ source }) => source.length > 100)) throw responseError(413)
    return documents.map(() => written)
  })
  const [small, large, other] = await Promise.all([
    submit('a', 1),
    submit('b', 1, `{"a":"${'x'.repeat(200)}"}`),
    submit('c', 1),
  ])
  expect([small, other]).toEqual([{ kind: 'indexed' }, { kind: 'indexed' }])
  expect(large).toMatchObject({ kind: 'rejected', reason: 'is larger than Elasticsearch takes at once' })
})

test('a document that there will never be memory for beside others is sent alone, and rejected when that is too much', async () => {
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

test('a record whose request alone is not understood is rejected, when the requests of others are', async () => {
  const { submit } = writing(async (documents) => {
    if (documents.some(({ id }) => id === 't/b')) throw responseError(400)
    return documents.map(() => written)
  })
  const kinds = await Promise.all([submit('a', 1), submit('b', 1), submit('c', 1), submit('d', 1)])
  expect(kinds.map(({ kind }) => kind)).toEqual(['indexed', 'rejected', 'indexed', 'indexed'])
})

test('while no request at all is understood, nothing is rejected, and all is stored once they are', async () => {
  let isUnderstood = false
  const { submit, troubles } = writing(async (documents) => {
    if (!isUnderstood) throw responseError(400)
    return documents.map(() => written)
  })
  const outcomes = Promise.all([submit('a', 1), submit('b', 1)])
  await eventually(() => troubles.length >= 6)
  expect(new Set(troubles)).toEqual(new Set(['pause']))
  isUnderstood = true
  expect(await outcomes).toEqual([{ kind: 'indexed' }, { kind: 'indexed' }])
})

test('a document that repeats a name is refused once, then stored with every name once, without waiting', async () => {
  const { submit, requests, waits } = writing(async (documents) =>
    documents.map(({ source }) => (source.includes('"a":1') ? rejected : written)),
  )
  expect(await submit('a', 1, '{"a":1,"b":1.50,"a":2}')).toEqual({ kind: 'indexed' })
  expect(requests[1]?.map(({ source }) => source.toString())).toEqual(['{"a":2,"b":1.50}', '{"a":2,"b":1.50}'])
  expect(waits).toEqual([])
})

test('when the newest record is refused for good, the next older one counts', async () => {
  const { submit } = writing(async (documents) => documents.map(({ version }) => (version > 2 ? rejected : written)))
  const outcomes = await Promise.all([submit('a', 1), submit('a', 4), submit('a', 2), submit('a', 3)])
  expect(outcomes.map(({ kind }) => kind)).toEqual(['stale', 'rejected', 'indexed', 'rejected'])
})

test('a bug stops the writer and is told', async () => {
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

test('an entity that changes a hundred thousand times while a request is under way costs no more than others', async () => {
  const { submit, requests } = writing(answering())
  // Were it quadratic, this would take minutes, and an indexer would lose its partitions.
  const outcomes = Array.from({ length: 100_000 }, (_, at) => submit('a', 1 + (at % 2 === 0 ? at : 1)))
  const kinds = (await Promise.all(outcomes)).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === 'indexed')).toHaveLength(1)
  expect(requests).toHaveLength(1)
})

test('requests are bounded in bytes, and one record that is larger goes alone', async () => {
  const { submit, requests } = writing(answering(), { maxBulkBytes: 100 })
  const sources = ['x'.repeat(20), 'x'.repeat(20), 'x'.repeat(20), 'x'.repeat(90), 'x'.repeat(10)]
  await Promise.all(sources.map((source, at) => submit(`e${at}`, 1, `"${source}"`)))
  expect(requests.map((documents) => documents.length)).toEqual([4, 2, 2, 2])
})
