import type { Socket } from 'node:net'

/** The floor: a client must read at least this fast while bytes wait for it. */
export const floorBytesPerSecond = 5_000
/**
 * How far a client may be behind the floor before its connection is reset. Example: after a minute in which it read 100,000 bytes, 20 seconds' worth, it is 40
 * seconds behind. A client that reads 10,000 bytes a second gets a page of 1.5 MiB within this time, even if the server sees its
 * progress late. (On loopback, the kernel accepts 1.5 MB at once, and reports no progress until some of it is read.)
 */
export const usualPatienceMs = 180_000

/** What was sent on a connection: bytes that the kernel has accepted, and bytes that wait for the kernel. */
type Sent = { readonly acceptedBytes: number; readonly waitingBytes: number }

/** What a check has found of a connection. `behindMs`: how far the client is behind the floor. */
export type Reading = Sent & { readonly behindMs: number }

/**
 * The present reading of a connection; `before` is the one `elapsedMs` ago, undefined at the first check. Time counts only while bytes wait. A client that has
 * read everything is not behind, however slow it was.
 */
export function readSince(before: Reading | undefined, sent: Sent, elapsedMs: number): Reading {
  if (before === undefined || before.waitingBytes === 0 || sent.waitingBytes === 0) return { ...sent, behindMs: 0 }
  // The time that the client would have taken at the speed of the floor.
  const readMs = ((sent.acceptedBytes - before.acceptedBytes) / floorBytesPerSecond) * 1_000
  return { ...sent, behindMs: Math.max(0, before.behindMs + elapsedMs - readMs) }
}

/** Private figures of Node, which its own timeouts use. The public figures of a `Writable` count a chunk only once the kernel has accepted all of it. */
type Handle = { readonly bytesWritten: number; readonly writeQueueSize: number }

export function sentOn(socket: Socket): Sent {
  const { bytesWritten = 0, writeQueueSize = 0 } =
    (socket as unknown as { readonly _handle: Handle | null })._handle ?? {}
  return { acceptedBytes: bytesWritten - writeQueueSize, waitingBytes: writeQueueSize }
}
