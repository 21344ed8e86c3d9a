import type { Socket } from 'node:net'

/** The floor: a client must read at least this fast while bytes wait for it. */
export const floorBytesPerSecond = 5_000
/**
 * How far a client may be behind the floor. After a minute in which it read 100,000 bytes, 20 seconds' worth, it is 40 seconds behind. The server may see
 * progress late: on loopback, the kernel accepts 1.5 MB at once, and reports nothing until some of it is read.
 */
export const usualPatienceMs = 180_000

/** Bytes that the kernel has accepted, and bytes that wait for it. */
type Sent = { readonly acceptedBytes: number; readonly waitingBytes: number }

export type Reading = Sent & { readonly behindMs: number }

/** `before`: the reading `elapsedMs` ago. Time counts only while bytes wait: a client that has read everything is not behind, however slow it was. */
export function readSince(before: Reading | undefined, sent: Sent, elapsedMs: number): Reading {
  if (before === undefined || before.waitingBytes === 0 || sent.waitingBytes === 0) return { ...sent, behindMs: 0 }
  const readMs = ((sent.acceptedBytes - before.acceptedBytes) / floorBytesPerSecond) * 1_000
  return { ...sent, behindMs: Math.max(0, before.behindMs + elapsedMs - readMs) }
}

/** Private figures of Node. Those of a `Writable` count a chunk only once the kernel has accepted all of it. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number }

export function sentOn(socket: Socket): Sent {
  const { bytesWritten = 0, writeQueueSize = 0 } =
    (socket as unknown as { readonly _handle: Handle | null })._handle ?? {}
  return { acceptedBytes: bytesWritten - writeQueueSize, waitingBytes: writeQueueSize }
}
