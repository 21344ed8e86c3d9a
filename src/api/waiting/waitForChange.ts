import { type EntityType, teamList } from '../../core/model/teamList.ts'
import { stallMs } from '../../core/process/httpServer.ts'
import { Stopwatch } from '../../core/process/requests.ts'
import { pausePermits, whenClosed } from '../admission.ts'
import type { News, RouteContext, WaitForChange, WatchKey } from '../context.ts'
import type { Place, Wait, WaitingRoom, Woken } from './waitingRoom.ts'

/** After a change that was none for the request it rests before it hears of the next one: first so long, then twice as long each time. */
const firstRestMs = 100
const maxRestMs = 2_000
/**
 * A request that finds rows of which nothing says whether its client has them is held so long. While the watermark stands still, a client
 * that tells nothing of its last answer would otherwise get the same rows as often as it can ask.
 */
const paceMs = 1_000

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
  async (ctx, type, readNews) => {
    const seconds = preferredWaitSeconds(ctx.get('Prefer'))
    const place = seconds === undefined ? undefined : deps.room.enter(ctx.state.holder.teamId)
    if (seconds === undefined || place === undefined) return
    whenClosed(ctx.res, place.leave)
    const unwatch = deps.watchKey(ctx, place.wake)
    ctx.set('Preference-Applied', `wait=${seconds}`)
    ctx.state.waited = new Stopwatch(deps.elapsedMs)
    try {
      await untilNews(ctx, deps, place, { type, readNews, deadlineMs: deps.elapsedMs() + seconds * 1_000 })
    } finally {
      unwatch()
      place.leave()
    }
  }

type Asked = { readonly type: EntityType; readonly deadlineMs: number; readNews(): Promise<News> }

async function untilNews(
  ctx: RouteContext,
  deps: WaitingDeps,
  place: Place,
  { type, readNews, deadlineMs }: Asked,
): Promise<void> {
  const list = teamList(type, ctx.state.holder.teamId)
  const pacedMs = Math.min(deadlineMs, deps.elapsedMs() + paceMs)
  let wasEmpty = false
  for (let restMs = 0; ; restMs = nextRestMs(restMs)) {
    const news = await readNews()
    wasEmpty ||= news === 'none'
    const nowMs = deps.elapsedMs()
    if (isNew(news, wasEmpty || nowMs >= pacedMs)) return
    const version = ctx.state.freshness.versions[type]
    // An unknown version cannot be seen to change.
    if (version === null) return
    const wait =
      news === 'unpromised'
        ? { list, version, notBeforeMs: deadlineMs, deadlineMs: Math.min(pacedMs, nowMs + nextRestMs(restMs)) }
        : { list, version, notBeforeMs: nowMs + restMs, deadlineMs }
    const woken = await heldUntilChanged(ctx, deps, place, wait)
    if (woken !== 'changed' && (woken !== 'over' || deps.elapsedMs() >= deadlineMs)) return
  }
}

/** Whether a request is answered; rows that its client may have count when it has found none before, or was held for long enough. */
const isNew = (news: News, isDue: boolean): boolean => news === 'promised' || (news === 'unpromised' && isDue)

const nextRestMs = (restMs: number): number => Math.min(maxRestMs, Math.max(firstRestMs, 2 * restMs))

/** Holds the request until its list changes, or why it goes on all the same. */
async function heldUntilChanged(
  ctx: RouteContext,
  { checkAgain }: WaitingDeps,
  place: Place,
  wait: Wait,
): Promise<Woken> {
  const resumePermits = pausePermits(ctx)
  const { socket } = ctx.req
  // Neither side says anything for as long as the request waits.
  socket.setTimeout(0)
  ctx.state.waited?.start()
  const woken = await place.untilChanged(wait)
  ctx.state.waited?.stop()
  if (woken === 'gone') return woken
  socket.setTimeout(stallMs)
  resumePermits()
  await checkAgain(ctx)
  return woken
}

/** How long a request may be held. */
export const maxWaitSeconds = 60

/**
 * A preference of `Prefer`; a comma in a quoted string separates nothing. A string that nothing ends goes on to the end of the header, so
 * that no part of it is looked at twice.
 */
const preference = /(?:[^,"]|"(?:[^"\\]|\\.?)*(?:"|$))+/g
const waitPreference = /^\s*wait\s*(?:[=;]|$)/i
const waitSeconds = /^\s*wait\s*=\s*(?<quote>"?)(?<seconds>\d{1,9})\k<quote>\s*(?:;|$)/i

/**
 * The seconds that a `Prefer` header (RFC 7240) names as `wait`; undefined when it names none from 1 to 60: a preference that cannot be
 * applied is ignored. Of several, the first one counts.
 */
export function preferredWaitSeconds(prefer: string): number | undefined {
  const first = prefer.match(preference)?.find((each) => waitPreference.test(each))
  const seconds = Number(waitSeconds.exec(first ?? '')?.groups?.['seconds'])
  return seconds >= 1 && seconds <= maxWaitSeconds ? seconds : undefined
}
