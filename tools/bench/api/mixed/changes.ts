import type { Config } from '../../../../src/core/process/config.ts'
import { seededRandom } from '../../../demo/random.ts'
import type { KafkaRecord } from '../../replica.ts'
import { newestMs, submissionMaker } from '../../submissions.ts'
import { zipf } from '../../zipf.ts'
import { largeTeam } from '../teams.ts'
import type { PollingTeam } from './script.ts'
import { formRecord, type MadeForm } from './teams.ts'

/** A change on its way to a topic. */
type Change = { readonly topic: string; readonly record: KafkaRecord }

/** How much less the teams behind the busiest change: most of them hardly ever while a script looks twice. */
const skew = 1.5
/** The large team is written to so that what is known of its list does not last. */
const shares = { editedForm: 10, changedSubmission: 40, newSubmission: 45, newOfLargeTeam: 5 }
const kinds = Object.keys(shares) as (keyof typeof shares)[]
const followMs = 1_000
const seed = 'mixed/changes'

/** Changes without end: of the polling teams new submissions, changed ones that scripts look at, and edited forms. */
export function* changesOf(
  teams: readonly PollingTeam[],
  forms: readonly MadeForm[],
  { TOPIC_FORMS, TOPIC_SUBMISSIONS }: Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS'>,
): Generator<Change, never> {
  const random = seededRandom(seed)
  const make = submissionMaker(seed)
  const ranks = zipf(teams.length, skew)
  const formsOf = Map.groupBy(forms, ({ teamId }) => teamId)
  // The number of the turn is a revision, too: every change is newer than all before, whatever it changes.
  for (let turn = 2; ; turn++) {
    const team = teams[ranks.rankAt(random.float())]
    if (team === undefined) throw new Error('there are no polling teams')
    const nowMs = newestMs + turn * followMs
    const kind = kinds[random.weighted(Object.values(shares))]
    if (kind === 'editedForm') {
      const { teamId, form } = random.pick(formsOf.get(team.id) ?? [])
      const edited = { ...form, updatedAt: new Date(nowMs).toISOString() }
      yield { topic: TOPIC_FORMS, record: formRecord({ teamId, form: edited }, turn) }
      continue
    }
    const id = kind === 'changedSubmission' ? random.pick(team.submissionIds) : undefined
    yield {
      topic: TOPIC_SUBMISSIONS,
      record: make(kind === 'newOfLargeTeam' ? largeTeam : team.id, nowMs, turn, id),
    }
  }
}
