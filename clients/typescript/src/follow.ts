import type { Received } from './connection.ts'
import type { Deps } from './entities.ts'
import { CursorExpiredError } from './errors.ts'
import { queryOf } from './query.ts'
import { retrying } from './retries.ts'
import type { ChangeRow, List, View } from './types.ts'

/** The content of one answer of the change feed. */
export interface Batch<Item> {
  /** Store each row under its `id`, together with `walk`; if it is `deleted`, remove the row with that `id`. May be empty; a row may come again. */
  readonly rows: readonly ChangeRow<Item>[]
  /** Store it with the rows, in one transaction, and pass it to `follow` after a restart. */
  readonly cursor: string
  /** There is nothing more now. The copy has everything that was visible when the first batch after the previous complete one was requested. */
  readonly complete: boolean
  /**
   * In a full walk, which begins without a cursor, a random id of that walk; otherwise the empty text. Store it with each row: at `sweep`, it
   * distinguishes the rows of this walk from older ones.
   */
  readonly walk: string
  /** The first batch of a full walk: no cursor was given, or the cursor had expired and the list begins anew. */
  readonly startsOver: boolean
  /** The last batch of a full walk, which has returned everything that exists. Delete all rows that are stored with another `walk` than this batch's. */
  readonly sweep: boolean
  /** Everything that changed before this time was visible; undefined if the API cannot promise it. */
  readonly watermark: string | undefined
}

export interface FollowOptions<V extends View, Fields> {
  /** The cursor of the last stored batch, or of an export; `latest`: from now on. Left out: from the beginning. */
  readonly cursor?: string | null | undefined
  /** `full`: rows have the members that `get` returns. */
  readonly view?: V | undefined
  /** The members of rows besides `id`, `changedAt` and `deleted`, which are always there. */
  readonly fields?: Fields | undefined
  /** The most rows of a batch, from 1 to 1,000 (default). Large rows come in smaller batches. */
  readonly limit?: number | undefined
  /** How long the API may wait for a row before it answers: from 1 to 60, 30 by default; 0: the API is polled. */
  readonly waitSeconds?: number | undefined
  /** The pause between two requests if the API does not wait; 5 by default. */
  readonly pollSeconds?: number | undefined
  /** Whether the loop ends when the copy is complete. */
  readonly once?: boolean | undefined
  /** After a 410, the list is read from the beginning (default), or a `CursorExpiredError` is thrown. */
  readonly onExpired?: 'restart' | 'throw' | undefined
  /** Aborting it ends the loop with the signal's reason as an error, as it ends a `fetch`. */
  readonly signal?: AbortSignal | undefined
}

const maxLimit = 1_000
const defaultWaitSeconds = 30
/** After a held request: a list that changes all the time costs half of the key's minute. Also before a list begins anew. */
const restMs = 1_000
const paths = { forms: '/form-changes', records: '/record-changes' } as const

/** A page of the change feed. */
interface ChangePage<Item> {
  readonly items: readonly ChangeRow<Item>[]
  readonly cursor: string
  readonly hasMore: boolean
}

/** Where a follower is: `walk` is empty outside of a full walk. */
interface Place {
  readonly walk: string
  /** A cursor of the API; undefined at the beginning. */
  readonly cursor: string | undefined
}

type Options = FollowOptions<View, readonly string[] | undefined>
type Answered<Item> = Received<ChangePage<Item>>

/** See `Tidemark.follow`. */
export async function* follow<Item>(
  deps: Deps,
  list: List,
  options: Options,
): AsyncGenerator<Batch<Item>, void, undefined> {
  const { once, waitSeconds = defaultWaitSeconds, signal } = options
  const { sleep } = deps.retries
  const ask = asking<Item>(deps, list, options)
  let place = placeOf(options.cursor)
  /** Whether the last batch was complete: then there may be nothing new, and the API may hold the request. */
  let isCurrent = false
  for (;;) {
    const answered = await ask(place.cursor, isCurrent ? waitSeconds : 0)
    if (answered === undefined) {
      await sleep(restMs, signal)
      place = placeOf(undefined)
      isCurrent = false
      continue
    }
    const batch = batchOf(place, answered)
    yield batch
    // A row that changes during a full walk may be swept, and comes again in the next batch.
    if (once && batch.complete && !batch.sweep) return
    if (batch.complete && !once) await sleep(pauseMs(batch, answered, isCurrent, options), signal)
    place = placeOf(batch.cursor)
    isCurrent = batch.complete && !once
  }
}

/** The pause after a complete batch. `mayWait`: the API was asked to hold the request. */
function pauseMs(
  { rows }: Batch<unknown>,
  { headers }: Answered<unknown>,
  mayWait: boolean,
  { waitSeconds = defaultWaitSeconds, pollSeconds = 5 }: Options,
): number {
  const isIgnored = mayWait && rows.length === 0 && headers.get('preference-applied') === null
  return waitSeconds === 0 || isIgnored ? pollSeconds * 1_000 : restMs
}

/** What asks for the page after a cursor; it resolves with undefined when the cursor has expired and the list is to begin anew. */
function asking<Item>({ connection, retries }: Deps, list: List, options: Options) {
  const { view, fields, limit = maxLimit, once, onExpired, signal } = options
  const policy = once ? retries : { ...retries, patienceMs: Number.POSITIVE_INFINITY }
  return async (cursor: string | undefined, waitSeconds: number): Promise<Answered<Item> | undefined> => {
    const request = { path: paths[list], query: queryOf({ limit, view, fields, cursor }), waitSeconds, signal }
    const isNext = (page: Partial<ChangePage<unknown>>): boolean => isChangePage(page) && leadsOn(page, cursor)
    const ask = (): Promise<Answered<Item>> => connection.json<ChangePage<Item>>(request, isNext)
    try {
      return await retrying(ask, policy, signal)
    } catch (error) {
      const isExpired = error instanceof CursorExpiredError && cursor !== undefined
      if (isExpired && onExpired !== 'throw') return undefined
      throw error
    }
  }
}

/** The batch of a page that was asked for at a place. */
function batchOf<Item>({ walk, cursor }: Place, { value: page, headers }: Answered<Item>): Batch<Item> {
  const complete = !page.hasMore
  return {
    rows: page.items,
    cursor: complete || walk === '' ? page.cursor : `${walk}:${page.cursor}`,
    complete,
    walk,
    startsOver: cursor === undefined,
    sweep: complete && walk !== '',
    watermark: headers.get('replica-watermark') ?? undefined,
  }
}

/**
 * The place that a stored cursor stands for. During a full walk, the cursor of a batch is the walk's id, a colon, and the cursor of the API, which has
 * no colon. So a program that ends in the middle of a full walk goes on in the same one, and the sweep at its end is right.
 */
function placeOf(stored: string | null | undefined): Place {
  if (stored === undefined || stored === null || stored === '') return { walk: newWalk(), cursor: undefined }
  const end = stored.indexOf(':')
  return { walk: stored.slice(0, Math.max(end, 0)), cursor: stored.slice(end + 1) }
}

/** Random, so that a program that has lost its cursor but not its rows gets another one. */
const newWalk = (): string =>
  [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Whether an answer is a page whose cursor stands for its rows: with any less, rows would be lost. */
function isChangePage(page: Partial<ChangePage<unknown>>): page is ChangePage<unknown> {
  const { items, cursor, hasMore } = page
  const isPage = Array.isArray(items) && typeof cursor === 'string' && cursor !== '' && typeof hasMore === 'boolean'
  return isPage && items.every(isRow)
}

const isRow = (row: Partial<ChangeRow<unknown>> | null): boolean =>
  typeof row?.id === 'string' && typeof row.deleted === 'boolean'

/** A page without rows that says there is more, or that comes again and again, would be asked for without a pause. */
const leadsOn = ({ items, cursor, hasMore }: ChangePage<unknown>, asked: string | undefined): boolean =>
  !hasMore || (items.length > 0 && cursor !== asked)
