import type { TestAnswer } from './api.ts'
import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'

/** A row of the change feed. */
export type ChangeRow = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly changedAt: string
  readonly deleted: boolean
}

export type ChangePage = { readonly items: readonly ChangeRow[]; readonly cursor: string; readonly hasMore: boolean }

type Ask = (target: string) => Promise<TestAnswer>

/** The page of an answer; throws unless it is one. */
export function pageIn({ status, json, text }: TestAnswer): ChangePage {
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return json as ChangePage
}

/** Asks for changes at `path`, which may have a query, from a cursor on. */
export async function askChanges(ask: Ask, path: string, cursor?: string): Promise<ChangePage> {
  const separator = path.includes('?') ? '&' : '?'
  return pageIn(await ask(cursor === undefined ? path : `${path}${separator}cursor=${cursor}`))
}

/** All pages of a walk, the last one with `hasMore: false`. */
export async function walkChanges(ask: Ask, path: string, cursor?: string): Promise<readonly ChangePage[]> {
  const pages: ChangePage[] = []
  for (let next = cursor; pages.at(-1)?.hasMore !== false; next = pages.at(-1)?.cursor)
    pages.push(await askChanges(ask, path, next))
  return pages
}

/** The rows of pages, in their order. */
export const rowsOf = (pages: readonly ChangePage[]): readonly ChangeRow[] => pages.flatMap(({ items }) => items)

/** The ids of rows, a deletion as `-id`. */
export const namesOf = (rows: readonly ChangeRow[]): readonly string[] =>
  rows.map(({ id, deleted }) => (deleted ? `-${id}` : id))

type FeedRequest = {
  readonly api: Program
  readonly team: string
  readonly cursor?: string | undefined
  readonly path?: string | undefined
}

/** Walks a change feed of a running API. Returns the ids of the rows since `cursor`, as `namesOf` does, and the cursor after them. */
export async function idsSince(
  pipeline: Pipeline,
  { api, team, cursor, path = '/api/v1/record-changes' }: FeedRequest,
): Promise<{ readonly ids: readonly string[]; readonly cursor: string }> {
  const ask = async (target: string) => {
    const answer = await fetch(api.url + target, { headers: { authorization: `Bearer ${pipeline.keyOf(team)}` } })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) } as never
  }
  const pages = await walkChanges(ask, path, cursor)
  return { ids: namesOf(rowsOf(pages)), cursor: pages.at(-1)?.cursor ?? '' }
}
