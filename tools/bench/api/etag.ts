import type { Measuring } from './contenders.ts'
import { listRequest } from './lists.ts'

/** What the first page of the large team's list is known by now. */
export async function etagOf(
  { origin, accountKey, stage }: Pick<Measuring, 'origin' | 'accountKey' | 'stage'>,
  limit: number,
): Promise<string> {
  const { path, headers } = listRequest({ limit, page: 1, filter: 'none' }, accountKey)
  const answer = await fetch(origin + path, { headers, signal: stage.signal })
  await answer.arrayBuffer()
  const etag = answer.headers.get('etag')
  if (etag === null) throw new Error(`${path} is answered without an ETag`)
  return etag
}
