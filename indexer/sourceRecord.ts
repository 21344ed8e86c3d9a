import type { IHeaders, KafkaMessage } from 'kafkajs'
import { type Offset, toOffset } from '../src/domain/identifiers.ts'

/** A record as Kafka holds it, with its place. */
export type SourceRecord = {
  readonly topic: string
  readonly partition: number
  readonly offset: Offset
  readonly appendedAtMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: IHeaders
}

export const sourceRecord = (topic: string, partition: number, message: KafkaMessage): SourceRecord => ({
  topic,
  partition,
  offset: toOffset(message.offset),
  appendedAtMs: Number(message.timestamp),
  key: message.key,
  value: message.value,
  headers: message.headers ?? {},
})

/** Bytes that a record holds while it is under way: as received, and about as much again in each of its two documents. */
export const recordBytes = (record: SourceRecord): number =>
  (record.key?.length ?? 0) + 3 * (record.value?.length ?? 0) + 1_024
