import { teamList } from '../../core/model/teamList.ts'
import { stallMs } from '../../core/process/httpServer.ts'
import { Stopwatch } from '../../core/process/stopwatch.ts'
import { pausePermits, whenClosed } from '../admission.ts'
import type { RouteContext, WaitForChange, WatchKey } from '../context.ts'
import { preferredWaitSeconds } from './preferredWait.ts'
import type { Place, Wait, WaitingRoom } from './waitingRoom.ts'

/** After a change that was none for the request it rests before it hears of the next one: first so long, then twice as long each time. */
const firstRestMs = 100
const maxRestMs = 2_000

type WaitingDeps = {
  readonly room: WaitingRoom
  /** Judges the key of a request again, and reads the freshness of the team's lists anew. */
  checkAgain(ctx: RouteContext): Promise<void>
  /** Calls `onRefused` once the key of a request is no longer accepted; the returned function ends that. */
  readonly watchKey: WatchKey
  /** Time that never steps. */
  readonly elapsedMs: () => number
}

/**
 * Holds requests that prefer to wait (`Prefer: wait=N`) while their list has nothing new for them. A request that waits has neither
 * permit nor turn. When it goes on, its key is judged again and the freshness is read anew.
 */
export const createWaiting =
  (deps: WaitingDeps): WaitForChange =>
  async (ctx, type, hasNews) => {
    const seconds = preferredWaitSeconds(ctx.get('Prefer'))
    const place = seconds === undefined ? undefined : deps.room.enter(ctx.state.holder.teamId)
    if (seconds === undefined || place === undefined) return
    whenClosed(ctx.res, place.leave)
    const unwatch = deps.watchKey(ctx, place.wake)
    ctx.set('Preference-Applied', `wait=${seconds}`)
    ctx.state.waited = new Stopwatch(deps.elapsedMs)
    const deadlineMs = deps.elapsedMs() + seconds * 1_000
    try {
      for (let restMs = 0; !(await hasNews()); restMs = nextRestMs(restMs)) {
        const version = ctx.state.freshness.versions[type]
        // An unknown version cannot be seen to change.
        if (version === null) return
        const list = teamList(type, ctx.state.holder.teamId)
        const wait = { list, version, notBeforeMs: deps.elapsedMs() + restMs, deadlineMs }
        if (!(await heldUntilChanged(ctx, deps, place, wait))) return
      }
    } finally {
      unwatch()
      place.leave()
    }
  }

const nextRestMs = (restMs: number): number => Math.min(maxRestMs, Math.max(firstRestMs, 2 * restMs))

/** Holds the request until its list changes; false when it is to be answered all the same, or its client is gone. */
async function heldUntilChanged(
  ctx: RouteContext,
  { checkAgain }: WaitingDeps,
  place: Place,
  wait: Wait,
): Promise<boolean> {
  const resumePermits = pausePermits(ctx)
  const { socket } = ctx.req
  // Neither side says anything for as long as the request waits.
  socket.setTimeout(0)
  ctx.state.waited?.start()
  const woken = await place.untilChanged(wait)
  ctx.state.waited?.stop()
  if (woken === 'gone') return false
  socket.setTimeout(stallMs)
  resumePermits()
  await checkAgain(ctx)
  return woken === 'changed'
}
