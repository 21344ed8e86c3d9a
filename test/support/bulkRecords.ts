import { errors } from '@elastic/elasticsearch'
import type { DocumentWrite } from '../../indexer/convertRecord.ts'
import type { DocumentId, Revision, TeamId } from '../../src/core/model/ids.ts'

/** The list and the detail document of a form, with this text as source. */
export const documentsOf = (entity: string, version: number, source = '{"a":1}', team = 't'): DocumentWrite[] =>
  (['forms', 'form-details'] as const).map((kind) => ({
    kind,
    id: `${team}/${entity}` as DocumentId,
    teamId: team as TeamId,
    version: version as Revision,
    source: Buffer.from(source),
    ...(kind === 'forms' && { digest: source }),
  }))

/** The error of the Elasticsearch client for an answer with this status. */
export const responseError = (statusCode: number, body: unknown = {}): Error =>
  new errors.ResponseError({ statusCode, body, headers: {}, warnings: null, meta: {} as never })
