import type { Page, Read, Row } from './changeFeed.ts'
import { anew, type Position } from './position.ts'

/** What a follower needs from n8n and the API. All of them reject once the follower is to end. */
export type Surroundings = {
  /** Asks for the page at a cursor. With `waits`, the answer comes when there is a row, or after half a minute. */
  read(cursor: string | undefined, waits: boolean): Promise<Read>
  /** Hands rows to an execution. Resolves with true when it has ended, however; with false if it could not begin. */
  run(rows: readonly Row[]): Promise<boolean>
  /** Everything up to a position was handed to executions that have ended. */
  reached(position: Position): void
  /** Shows a user of n8n that the position was lost. */
  reportLoss(why: string, position: Position): void
  warn(message: string): void
  sleep(ms: number): Promise<void>
}

/** Clocks of the brokers and of the API may differ by so much. */
const marginMs = 60_000
const longestPauseMs = 60_000
/** The pause after an answer without rows that came at once, because too many requests of the team are waiting. */
const unwaitedPauseMs = 10_000

/** Reads changes from a position on, until `surroundings` reject, or the API refuses to answer: then returns what it said. */
export async function follow(start: Position, surroundings: Surroundings): Promise<Extract<Read, { kind: 'refused' }>> {
  let walk = walkFrom(start)
  let failures = 0
  for (;;) {
    const waits = !walk.isBegun && walk.position.cursor !== undefined
    const read = await surroundings.read(walk.position.cursor, waits)
    if (read.kind === 'refused') return read
    if (read.kind === 'lost') {
      surroundings.reportLoss(read.why, walk.position)
      walk = walkFrom(anew(walk.position))
    } else if (read.kind === 'later') {
      await pauseAfterFailure(surroundings, read, failures)
      failures += 1
    } else if (await hasRun(surroundings, walk, read.page)) {
      failures = 0
      walk = after(walk, read.page)
      surroundings.reached(walk.position)
      if (waits && !read.page.hasWaited && read.page.items.length === 0) await surroundings.sleep(unwaitedPauseMs)
    } else {
      await pauseAfterFailure(surroundings, { why: 'no execution has begun', waitMs: undefined }, failures)
      failures += 1
    }
  }
}

/**
 * A run through the changes until `hasMore` is false. `isBegun`: its first page was read. `watermark`: that of its first page, if it was read here; all
 * that changed before this time will have been read when the run ends.
 */
type Walk = { readonly position: Position; readonly watermark: string | undefined; readonly isBegun: boolean }

/** At a stored cursor, a walk may have begun before n8n did. */
const walkFrom = (position: Position): Walk => ({
  position,
  watermark: undefined,
  isBegun: position.cursor !== undefined,
})

function after(walk: Walk, { cursor, hasMore, watermark }: Page): Walk {
  const first = walk.isBegun ? walk.watermark : watermark
  const position = { ...walk.position, cursor }
  if (hasMore) return { position, watermark: first, isBegun: true }
  const whole = { ...position, since: undefined, readUntil: first ?? position.readUntil }
  return { position: whole, watermark: undefined, isBegun: false }
}

/** Hands the page's rows to an execution, if it has new ones; false if that has failed. */
async function hasRun(surroundings: Surroundings, { position }: Walk, { items }: Page): Promise<boolean> {
  const rows = items.filter((row) => isNew(row, position.since))
  return rows.length === 0 || (await surroundings.run(rows))
}

const isNew = ({ changedAt }: Row, since: string | undefined): boolean =>
  since === undefined || since === '' || !(Date.parse(changedAt) < Date.parse(since) - marginMs)

async function pauseAfterFailure(
  { warn, sleep }: Surroundings,
  { why, waitMs }: { readonly why: string; readonly waitMs: number | undefined },
  failures: number,
): Promise<void> {
  const pauseMs = waitMs ?? Math.min(1_000 * 2 ** failures, longestPauseMs)
  warn(`${why}; asking again in ${Math.ceil(pauseMs / 1_000)} s`)
  await sleep(pauseMs)
}
