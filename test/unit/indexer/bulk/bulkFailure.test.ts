import { errors } from '@elastic/elasticsearch'
import {
  classifyItem,
  classifyRequestError,
  expectOwnIndices,
  type ItemOutcome,
  MalformedResponse,
} from '../../../../indexer/bulk/bulkFailure.ts'
import { responseError } from '../../../support/bulkRecords.ts'

test.each([
  [200, undefined, 'written'],
  [201, undefined, 'written'],
  [409, 'version_conflict_engine_exception', 'stale'],
  [409, 'another_conflict', 'suspect'],
  [409, undefined, 'suspect'],
  [400, 'document_parsing_exception', 'reject'],
  [400, 'mapper_parsing_exception', 'reject'],
  [400, undefined, 'reject'],
  [400, 'index_closed_exception', 'pause'],
  [400, 'illegal_argument_exception', 'suspect'],
  [400, 'strict_dynamic_mapping_exception', 'suspect'],
  [401, 'security_exception', 'pause'],
  [403, 'cluster_block_exception', 'pause'],
  [404, 'index_not_found_exception', 'pause'],
  [408, undefined, 'retry'],
  [429, 'es_rejected_execution_exception', 'busy'],
  [429, 'circuit_breaking_exception', 'busy'],
  [429, 'cluster_block_exception', 'pause'],
  [429, undefined, 'busy'],
  [500, 'null_pointer_exception', 'suspect'],
  [503, 'unavailable_shards_exception', 'away'],
  // The cluster has no master, or has not recovered its state yet.
  [503, 'cluster_block_exception', 'retry'],
  [503, undefined, 'retry'],
  [502, undefined, 'retry'],
  [504, 'timeout_exception', 'retry'],
  [507, 'an_exception_of_another_release', 'suspect'],
])('an item of status %d (%s) is %s', (status, type, kind) => {
  expect(classifyItem(status, type === undefined ? undefined : { type }).kind).toBe(kind)
})

test.each([
  ['400', responseError(400), 'bad-request'],
  ['413', responseError(413), 'split'],
  ['401', responseError(401), 'pause'],
  ['403', responseError(403), 'pause'],
  ['404', responseError(404), 'pause'],
  ['429', responseError(429), 'busy'],
  ['429 without a body', responseError(429, null), 'busy'],
  ['500', responseError(500), 'retry'],
  ['502', responseError(502), 'retry'],
  ['no connection', new errors.ConnectionError('refused'), 'retry'],
  ['no node', new errors.NoLivingConnectionsError('none', {} as never), 'retry'],
  ['no answer in time', new errors.TimeoutError('slow'), 'busy'],
  ['an answer about other documents', new MalformedResponse('2 items for 3 documents'), 'retry'],
  ['half an answer', new errors.DeserializationError('cut', '{"ite'), 'retry'],
  ['a request that cannot be serialized', new errors.SerializationError('cyclic', {}), undefined],
  ['a wrong configuration of the client', new errors.ConfigurationError('node'), undefined],
  ['a bug', new TypeError('undefined is not a function'), undefined],
  ['no error at all', 'thrown', undefined],
])('a request that ends with %s', (_, error, kind) => {
  expect(classifyRequestError(error)?.kind).toBe(kind)
})

test('a rebuild ends when its write alias is gone, and goes on after every other failure', () => {
  const written: ItemOutcome = { kind: 'written' }
  const failed = (kind: 'pause' | 'retry', reason: string): ItemOutcome => ({ kind, reason })
  const others = [written, failed('pause', '403 cluster_block_exception'), failed('retry', '404 index_not_found')]
  expect(expectOwnIndices(others)).toBe(others)
  const gone = classifyItem(404, { type: 'index_not_found_exception' })
  expect(() => expectOwnIndices([written, gone])).toThrow(
    /deleted, or taken over by another one: run the rebuild again/,
  )
})

const rejected = (bytes: number): string =>
  `rejected execution of coordinating operation [coordinating_and_primary_bytes=0, replica_bytes=0, all_bytes=0, coordinating_operation_bytes=${bytes}, max_coordinating_bytes=204800]`

test.each([
  [300_209, 'split'],
  [204_800, 'busy'],
])('a rejection of %d bytes, where at most 204800 ever fit, means %s', (bytes, kind) => {
  const body = { error: { type: 'es_rejected_execution_exception', reason: rejected(bytes) } }
  expect(classifyRequestError(responseError(429, body))?.kind).toBe(kind)
})

const ofPrimary = (bytes: number): string =>
  `rejected execution of primary operation [coordinating_and_primary_bytes=41000, replica_bytes=0, all_bytes=41000, primary_operation_bytes=${bytes}, max_primary_bytes=204800]`

test.each([
  // Four times 40961 and 40960 bytes, which the primary reserves beside the document.
  [ofPrimary(163_844), 'split'],
  [ofPrimary(163_840), 'busy'],
  [
    'Request contains an operation of size [300209] bytes, which exceeds the maximum allowed limit of [204800] bytes',
    'split',
  ],
])('a rejection by a primary is permanent or not: %s', (reason, kind) => {
  expect(classifyItem(429, { type: 'es_rejected_execution_exception', reason }).kind).toBe(kind)
})

describe('the reason of a failure quotes no document', () => {
  const unparsed = {
    type: 'document_parsing_exception',
    reason:
      "[1:53] failed to parse field [createdAt] of type [date] in document with id 'acme/f1'. Preview of field's value: 'ada@example.com'",
    caused_by: { type: 'illegal_argument_exception', reason: 'failed to parse date field [ada@example.com]' },
  }
  const unavailable = {
    type: 'unavailable_shards_exception',
    reason:
      '[forms][0] primary shard is not active, request: [index {[forms][acme/f1], source[{"a":"ada@example.com"}]}]',
  }
  test.each([
    [400, unparsed, '400 document_parsing_exception in createdAt caused by illegal_argument_exception'],
    [503, unavailable, '503 unavailable_shards_exception'],
    [403, { type: 'ada@example.com' }, '403 without a reason'],
    [500, undefined, '500 without a reason'],
  ])('in a response with status %d', (status, error, reason) => {
    expect(classifyItem(status, error)).toMatchObject({ reason })
    expect(classifyRequestError(responseError(status, { error }))).toMatchObject({ reason })
  })

  test('in a response about other documents', () => {
    const reason = classifyRequestError(new MalformedResponse('2 items for 3 documents'))?.reason
    expect(reason).toBe('Elasticsearch response does not match its request: 2 items for 3 documents')
  })

  test('in an unreadable response', () => {
    const unread = new errors.DeserializationError('Unexpected token a in "ada@example.com"', 'ada@example.com')
    expect(classifyRequestError(unread)).toMatchObject({ reason: expect.not.stringContaining('ada') })
  })
})
