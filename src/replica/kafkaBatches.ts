import { createRequire } from 'node:module'

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
  const load = createRequire(import.meta.url)
  const path = load.resolve('kafkajs/src/protocol/recordBatch/v0/decoder')
  const decode = load(path) as Decode
  const module = load.cache[path]
  if (module === undefined) throw new Error('the record batch decoder of KafkaJS is not where it was')
  module.exports = async (decoder: unknown): Promise<RecordBatch> => withItsEnd(await decode(decoder))
}

function withItsEnd(batch: RecordBatch): RecordBatch {
  const lastOffset = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta))
  if (batch.records.at(-1)?.offset === lastOffset) return batch
  const { records, ...batchContext } = batch
  const end = { offset: lastOffset, isControlRecord: true, key: null, value: null, headers: {}, batchContext }
  return { ...batch, records: [...records, end] }
}
