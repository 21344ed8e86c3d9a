import type { Socket } from 'node:net'

/** What a client must read of what waits for it, in bytes a second. */
export const floorBytesPerSecond = 5_000
/**
 * How far a client may be behind the floor. Who reads 10,000 bytes a second has a page of 1.5 MiB by then, also if proxies and kernels show that
 * late: on loopback, a kernel takes the next 1.5 MB only once its client has read as much.
 */
export const usualPatienceMs = 180_000

/** What a kernel has taken of what was sent on a connection, and what waits for it. */
type Sent = { readonly taken: number; readonly waiting: number }

/** How a client reads: what was sent when it was last looked at, and how far it is behind the floor. */
export type Reading = Sent & { readonly behindMs: number }

/**
 * How a client reads that read like `before` until `elapsedMs` ago. Time counts only while something waits for the client, so not while its answer
 * is made; who has read everything is not behind, whatever was before.
 */
export function readSince(before: Reading | undefined, sent: Sent, elapsedMs: number): Reading {
  if (before === undefined || before.waiting === 0 || sent.waiting === 0) return { ...sent, behindMs: 0 }
  const readMs = ((sent.taken - before.taken) / floorBytesPerSecond) * 1_000
  return { ...sent, behindMs: Math.max(0, before.behindMs + elapsedMs - readMs) }
}

/** Node's timeouts look at the same figures, of which there are no public ones: a `Writable` counts a chunk as a whole until its end. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number }

export function sentOn(socket: Socket): Sent {
  const { bytesWritten = 0, writeQueueSize = 0 } =
    (socket as unknown as { readonly _handle: Handle | null })._handle ?? {}
  return { taken: bytesWritten - writeQueueSize, waiting: writeQueueSize }
}
