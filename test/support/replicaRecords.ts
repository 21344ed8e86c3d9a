import type { AppendInfo } from '../../indexer/convertRecord.ts'
import type { EntityId, TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { logPosition } from '../../src/core/model/logPosition.ts'
import {
  type Change,
  type RenderedForm,
  type RenderedSubmission,
  readFormRecord,
  readSubmissionRecord,
} from '../../src/core/model/record.ts'
import { formEntity, submissionEntity } from './entities.ts'

type Members = Readonly<Record<string, unknown>>

/** The record of a form; `members` replace those of the example. */
export const formRecord = (team: TeamId, id: string, revision: number, members: Members = {}): Change<RenderedForm> =>
  expectValid(readFormRecord(keyOf(team, id), recordValue(revision, 'form', formEntity({ id, ...members }))))

/** The record of a submission; `members` replace those of the example. */
export const submissionRecord = (
  team: TeamId,
  id: string,
  revision: number,
  members: Members = {},
): Change<RenderedSubmission> =>
  expectValid(
    readSubmissionRecord(keyOf(team, id), recordValue(revision, 'submission', submissionEntity({ id, ...members }))),
  )

/** When a record was appended, and where. */
export const recordedAt = (changedAt: Instant, offset = 0, partition = 0): AppendInfo => ({
  changedAt,
  logPosition: logPosition({ partition, offset: BigInt(offset) }),
})

/** The record that deletes an entity. */
export const deletionOf = (teamId: TeamId, id: string): Change<never> => ({
  teamId,
  entityId: id as EntityId,
  live: null,
})

const keyOf = (team: TeamId, id: string): Buffer => Buffer.from(`${team}/${id}`)
const recordValue = (revision: number, member: string, entity: object): Buffer =>
  Buffer.from(JSON.stringify({ revision, [member]: entity }))

function expectValid<T>(read: { ok: true; value: T } | { ok: false; problem: unknown }): T {
  if (read.ok) return read.value
  throw new Error(JSON.stringify(read.problem))
}
