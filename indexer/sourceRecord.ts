import type { IHeaders, KafkaMessage } from 'kafkajs'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import { clampToInstants } from '../src/core/model/instant.ts'

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
  // On a topic without log-append time producers set it, to anything.
  appendedAtMs: clampToInstants(Number(message.timestamp)),
  key: message.key,
  value: message.value,
  headers: writableHeaders(message.headers ?? {}),
})

/**
 * Headers that KafkaJS can write again: it fails on a null value, which comes back empty, and it reads a header named like a
 * member of every object (`toString`) together with that member.
 */
function writableHeaders(headers: IHeaders): IHeaders {
  const writable = Object.entries(headers).map(([name, value]) => {
    const values = (Array.isArray(value) ? value : [value]).filter((each: unknown) => typeof each !== 'function')
    return [name, values.map((each) => each ?? Buffer.alloc(0))] as const
  })
  return Object.fromEntries(writable)
}

/** Bytes that a record holds while it is under way: as received, and about as much again in each of its two documents. */
export const recordBytes = (record: SourceRecord): number =>
  (record.key?.length ?? 0) + 3 * (record.value?.length ?? 0) + 1_024
