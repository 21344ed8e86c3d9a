import type { IDataObject } from 'n8n-workflow'

/** How far the changes were read. */
export type Position = {
  /** Which changes: the resource, and the parameters to which the cursor belongs. */
  readonly resource: string
  readonly query: string
  /** From the last answer; `undefined`: from the beginning. */
  readonly cursor?: string | undefined
  /** All that changed before this time (ISO) was read: the watermark at the beginning of the last whole walk. */
  readonly readUntil?: string | undefined
  /** While everything is read anew: only what changed at or after this time (ISO) is new; empty: all of it. */
  readonly since?: string | undefined
}

/** From the beginning, for what has changed since everything was read the last time. */
export const anew = (position: Position): Position => ({
  ...position,
  cursor: undefined,
  since: position.since ?? position.readUntil ?? '',
})

/** A position with the time (epoch ms) at which everything up to it had been handed to executions that have ended. */
export type Reached = { readonly position: Position; readonly atMs: number }

/**
 * Positions that this process has reached, by node. n8n stores static data when an execution begins, not when it has ended. So what it has stored lacks
 * the last execution, and what it uses for a new try after an error may even be from the first activation.
 */
const reachedHere = new Map<string, Reached>()

/** Where a node goes on: the later of what n8n has stored and what this process has reached. */
export function lastReached(node: string, staticData: IDataObject): Position | undefined {
  const stored = staticData['reached'] as Reached | undefined
  const here = reachedHere.get(node)
  return (here !== undefined && here.atMs >= (stored?.atMs ?? 0) ? here : stored)?.position
}

/** Notes a position in this process, and in the static data for the next time that n8n stores it. */
export function noteReached(node: string, staticData: IDataObject, reached: Reached): void {
  reachedHere.set(node, reached)
  // Replaced as a whole: n8n notices no change within it.
  staticData['reached'] = reached as unknown as IDataObject
}
