import type { Config } from '../../../../src/core/process/config.ts'
import { entityId, seededRandom } from '../../../demo/random.ts'
import { renderReports } from '../../reports.ts'
import { zipf } from '../../search/zipf.ts'
import { largeTeam, newestMs, type SubmissionRecord } from '../submissions.ts'
import type { PollingTeam } from './script.ts'
import { formRecord, type MadeForm } from './teams.ts'

/** A change on its way to a topic. */
export type Change = { readonly topic: string; readonly record: SubmissionRecord }

/** How much less the teams behind the busiest change: most of them hardly ever while a script looks twice. */
const skew = 1.5
/** The large team is written to so that what is known of its list does not last. */
const shares = { editedForms: 10, changedSubmissions: 40, newSubmissions: 45, newOfLargeTeam: 5 }
type ChangeKind = keyof typeof shares
const kinds = Object.keys(shares) as ChangeKind[]
const distinctReports = 64
const followMs = 1_000
const seed = 'mixed/events'

/** Changes without end: of the polling teams new submissions, changed ones that scripts look at, and edited forms. */
export function* changesOf(
  teams: readonly PollingTeam[],
  forms: readonly MadeForm[],
  { TOPIC_FORMS, TOPIC_SUBMISSIONS }: Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS'>,
): Generator<Change, never> {
  const random = seededRandom(seed)
  const reports = renderReports(seed, distinctReports, newestMs)
  const ranks = zipf(teams.length, skew)
  const formsOf = Map.groupBy(forms, ({ teamId }) => teamId)
  // The number of the turn is a revision, too: every change is newer than all before, whatever it changes.
  for (let turn = 2; ; turn++) {
    const team = teams[ranks.rankAt(random.float())]
    if (team === undefined) throw new Error('there are no polling teams')
    const nowMs = newestMs + turn * followMs
    const now = new Date(nowMs).toISOString()
    const kind = kinds[random.weighted(Object.values(shares))]
    if (kind === 'editedForms') {
      const { teamId, form } = random.pick(formsOf.get(team.id) ?? [])
      yield { topic: TOPIC_FORMS, record: formRecord({ teamId, form: { ...form, updatedAt: now } }, turn) }
      continue
    }
    const { id, submittedAt } =
      kind === 'changedSubmissions' ? random.pick(team.records) : { id: entityId(random, nowMs), submittedAt: now }
    const submission = { ...random.pick(reports), id, submittedAt, updatedAt: now }
    const key = `${kind === 'newOfLargeTeam' ? largeTeam : team.id}/${id}`
    yield { topic: TOPIC_SUBMISSIONS, record: { key, value: JSON.stringify({ revision: turn, submission }) } }
  }
}
