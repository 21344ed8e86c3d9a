import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** What KafkaJS makes of a record batch. */
type RecordBatch = {
  readonly firstOffset: string
  readonly lastOffsetDelta: number
  readonly records: { readonly offset: string }[]
}
type Decode = (decoder: unknown) => Promise<RecordBatch>

/**
 * Lets KafkaJS 2.2.4 read past record batches that compaction has emptied. Kafka keeps such a batch for every idempotent
 * producer, with its last offset and no record. KafkaJS decodes it to nothing, does not move on, and asks for the same offset
 * for ever. A control record at the batch's last offset, which is never handed out, makes it move on.
 *
 * KafkaJS loads the decoder when it first fetches; importing this file comes before.
 */
export function readPastEmptyBatches(): void {
  const path = load.resolve('kafkajs/src/protocol/recordBatch/v0/decoder')
  const decode = load(path) as Decode
  const module = load.cache[path]
  if (module === undefined) throw new Error('the record batch decoder of KafkaJS is not where it was')
  module.exports = async (decoder: unknown): Promise<RecordBatch> => withItsEnd(await decode(decoder))
}

type Ask = (parts: { isolationLevel?: number }) => unknown
type Requests = { protocol?: (wanted: { version: number }) => Ask | undefined }

const readUncommitted = 0

/**
 * Lets an admin client of KafkaJS 2.2.4 tell the end of a partition. It asks for the last stable offset instead, which an open
 * transaction holds back: records behind it are appended and not yet readable, and a reader that has reached it would take
 * itself for caught up. Consumers name the level that they read at, and are not changed.
 */
export function tellRealEnds(): void {
  const requests = load('kafkajs/src/protocol/requests/listOffsets') as Requests
  const { protocol } = requests
  if (protocol === undefined) throw new Error('the offset requests of KafkaJS are not where they were')
  requests.protocol = (wanted) => {
    const ask = protocol(wanted)
    return ask && ((parts) => ask({ ...parts, isolationLevel: parts.isolationLevel ?? readUncommitted }))
  }
}

function withItsEnd(batch: RecordBatch): RecordBatch {
  const lastOffset = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta))
  if (batch.records.at(-1)?.offset === lastOffset) return batch
  const { records, ...batchContext } = batch
  const end = { offset: lastOffset, isControlRecord: true, key: null, value: null, headers: {}, batchContext }
  return { ...batch, records: [...records, end] }
}
