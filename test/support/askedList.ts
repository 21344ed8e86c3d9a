import { createIndexReader, type VersionedList } from '../../src/api/search/indexReader.ts'
import type { SearchRequest } from '../../src/api/search/searchClient.ts'
import type { EntityType, TeamId } from '../../src/core/model/ids.ts'

/** The body of a `_search` response, and of an empty one. */
export const searchAnswer = (hits: object, others: object = {}): string =>
  JSON.stringify({ timed_out: false, _shards: { failed: 0 }, hits, ...others })

type Answer = string | { readonly isFound: boolean; readonly text: string }

/** A list of a team whose requests to Elasticsearch are recorded and answered by the test. */
export function askedList(
  answer: (request: SearchRequest) => Answer,
  type: EntityType = 'forms',
  deepPageFrom = 1_000,
) {
  const requests: SearchRequest[] = []
  const send = async (request: SearchRequest) => {
    requests.push(request)
    const answered = answer(request)
    const { isFound, text } = typeof answered === 'string' ? { isFound: true, text: answered } : answered
    const bytes = Buffer.from(text)
    if (isFound) request.check?.(bytes)
    return { isFound, bytes }
  }
  const reader = createIndexReader({ indexPrefix: 'tidemark', hasAnswers: true, send }, deepPageFrom)
  const list: VersionedList = { ...reader, type, teamId: 'team-1' as TeamId, version: null, indices: undefined }
  return { list, asked: requests }
}
