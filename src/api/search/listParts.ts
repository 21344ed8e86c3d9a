import type { EntityId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { largeBytes } from '../../core/stores/documents.ts'
import type { Clause } from './clauses.ts'
import { CountedSnapshot, createCountCache } from './countedSnapshot.ts'
import type { KeyRange } from './findPage.ts'
import { partsOf } from './largeParts.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import { ElasticsearchUnavailable, type RunQuery } from './searchClient.ts'
import type { Filters } from './searchPage.ts'

const maxCountedBytes = 1024 * 1024

/** Which rows of a list; the first one has offset 0. */
type RowRange = { readonly offset: number; readonly limit: number }
const everyRow: RowRange = { offset: 0, limit: Number.POSITIVE_INFINITY }

/** The number of rows of the list, and some of them. */
type Part<Row> = { readonly total: number; readonly rows: readonly Row[] }

/** How many rows the next part has, and how many bytes at most. */
type Plan = (filter: readonly Clause[], offset: number) => Promise<{ readonly rows: number; readonly bytes?: number }>

/**
 * Rows of the first filter that finds any, in parts of bounded bytes: rows of a list that has large ones are weighed before they are read. A
 * range past the end has one empty part.
 */
export async function* listRows(
  snapshot: ListSnapshot,
  kind: EntityType,
  filters: Filters,
  runQuery: RunQuery,
  range: RowRange = everyRow,
): AsyncGenerator<Part<Buffer>, void, undefined> {
  const counted = countedOf(snapshot, kind)
  const size = new PartSize()
  const isWeighed = await runQuery((signal) => counted.hasLarge(signal))
  const plan = isWeighed
    ? planByWeight(counted, runQuery)
    : async () => ({ rows: size.rows, bytes: size.rows * largeBytes })
  const read: ReadRange<Buffer> = (...found) => snapshot.rows(...found)
  for await (const part of parts(counted, filters, plan, read, runQuery, range)) {
    size.noteRows(part.rows)
    yield part
  }
}

/** The ids of all rows of the first filter that finds any, in parts of at most so many as `limit` says each time. */
export async function* listIds(
  snapshot: ListSnapshot,
  kind: EntityType,
  filters: Filters,
  limit: () => number,
  runQuery: RunQuery,
): AsyncGenerator<readonly EntityId[], void, undefined> {
  const read: ReadRange<EntityId> = (...found) => snapshot.ids(...found)
  const plan: Plan = async () => ({ rows: limit() })
  for await (const { rows } of parts(countedOf(snapshot, kind), filters, plan, read, runQuery, everyRow))
    if (rows.length > 0) yield rows
}

const countedOf = (snapshot: ListSnapshot, kind: EntityType): CountedSnapshot =>
  new CountedSnapshot(snapshot, createCountCache(maxCountedBytes), { name: 'export', list: kind })

/** Weighs many rows at once, and plans the parts that they make. */
function planByWeight(counted: CountedSnapshot, runQuery: RunQuery): Plan {
  let planned: ReturnType<typeof partsOf> = []
  return async (filter, offset) => {
    if (planned.length === 0)
      planned = partsOf(await runQuery((signal) => counted.weights(filter, { offset, limit: maxRows }, signal)))
    const [next, ...later] = planned
    planned = later
    return next ?? { rows: 1 }
  }
}

type ReadRange<Row> = (
  filter: readonly Clause[],
  range: KeyRange,
  limit: number,
  signal: AbortSignal,
) => Promise<readonly Row[]>

async function* parts<Row>(
  counted: CountedSnapshot,
  filters: Filters,
  plan: Plan,
  read: ReadRange<Row>,
  runQuery: RunQuery,
  { offset: first, limit: most }: RowRange,
): AsyncGenerator<Part<Row>, void, undefined> {
  for (const [at, filter] of filters.entries()) {
    for (let offset = first; ; ) {
      const next = await plan(filter, offset)
      const limit = Math.min(next.rows, first + most - offset)
      const { total, rows } = await runQuery(async (signal) => {
        const { total, range } = await counted.locate(filter, { offset, limit }, signal)
        return { total, rows: range === undefined ? [] : await read(filter, range, limit, signal) }
      }, next.bytes)
      if (total === 0 && at < filters.length - 1) break
      if (rows.length === 0 && offset < total)
        throw new ElasticsearchUnavailable('partial', `${offset} rows of ${total}`)
      yield { total, rows }
      offset += rows.length
      if (offset >= Math.min(total, first + most)) return
    }
  }
}

const firstRows = 100
/** Rows that are not large have 4 MiB together, whatever those before had. */
export const maxRows = 256
/** The target size of a part. */
const partBytes = 512 * 1024

/** How many rows the next part of an export has: as many as the average of the last part's rows makes `partBytes`. */
export class PartSize {
  #rows = firstRows

  get rows(): number {
    return this.#rows
  }

  /** Notes the rows of a part that was read. */
  noteRows(rows: readonly Buffer[]): void {
    const bytes = rows.reduce((sum, row) => sum + row.length, 0)
    this.#rows = Math.min(maxRows, Math.max(1, Math.floor((partBytes * rows.length) / Math.max(1, bytes))))
  }
}
