import { digestOf, plaintextFrom, startOf } from '../../../../src/core/model/accountKey.ts'
import { planForms, renderForm } from '../../../demo/forms.ts'
import { entityId, seededRandom } from '../../../demo/random.ts'
import { apiRequest, ask } from '../../http.ts'
import { type KafkaRecord, type Replica, untilServed } from '../../replica.ts'
import type { SampleForm } from '../../search/forms.ts'
import { makeTitle } from '../../search/titles.ts'
import { exactKinds, typedTexts } from '../../search/typed.ts'
import type { Stage } from '../../stage.ts'
import { newestMs } from '../../submissions.ts'
import type { PollingTeam } from './script.ts'

/** A form in the topic, and what changes when it is edited. */
export type MadeForm = { readonly teamId: string; readonly form: Readonly<Record<string, unknown>> & { id: string } }

const seed = 'mixed'
const formsOfTeam = 30
/** Of each, a script looks at so many again and again. */
const lookedAt = 4
const formEveryMs = 3_600_000
const recordsAtOnce = 100

/**
 * Gives so many of the small teams forms and a key each, by way of Kafka; returns once the API answers all of them. Every second one
 * takes compressed answers.
 */
export async function raisePollingTeams(
  { origin, append, untilIndexed }: Replica,
  stage: Stage,
  count: number,
): Promise<{ readonly teams: readonly PollingTeam[]; readonly forms: readonly MadeForm[] }> {
  const { TOPIC_ACCOUNT_KEYS, TOPIC_FORMS } = stage.config
  const random = seededRandom(seed)
  const templates = planForms(seed, newestMs).map((plan) => renderForm(plan, 0, plan.createdMs))
  const appendAll = async (topic: string, records: readonly KafkaRecord[]): Promise<void> => {
    for (let at = 0; at < records.length; at += recordsAtOnce)
      await append(topic, records.slice(at, at + recordsAtOnce))
  }
  const makeForm = (teamId: string, index: number): MadeForm & { readonly sample: SampleForm } => {
    const createdMs = newestMs - index * formEveryMs
    const [id, title, createdAt] = [entityId(random, createdMs), makeTitle(random), new Date(createdMs).toISOString()]
    const form = { ...random.pick(templates), id, title: title.text, createdAt, updatedAt: createdAt }
    return { teamId, form, sample: { teamId, id, title, createdAt } }
  }
  const made = Array.from({ length: count }, (_, index) => {
    const id = `team_${index}`
    const accountKey = plaintextFrom(Uint8Array.from({ length: 32 }, () => random.below(256)))
    return { id, accountKey, forms: Array.from({ length: formsOfTeam }, (_, at) => makeForm(id, at)) }
  })
  const forms = made.flatMap((team) => team.forms)
  await appendAll(
    TOPIC_ACCOUNT_KEYS,
    made.map(({ id, accountKey }) => keyRecord(id, accountKey)),
  )
  await appendAll(
    TOPIC_FORMS,
    forms.map((form) => formRecord(form, 1)),
  )
  await untilIndexed()
  const teams: PollingTeam[] = []
  for (const { id, accountKey, forms: own } of made) {
    await untilServed(stage, origin, accountKey)
    const { json } = await ask(origin, apiRequest(accountKey, 'records', { limit: lookedAt }), stage)
    teams.push({
      id,
      accountKey,
      submissionIds: (json as { items: { id: string }[] }).items.map((submission) => submission.id),
      formIds: own.slice(0, lookedAt).map(({ form }) => form.id),
      typed: typedFor(own.map(({ sample }) => sample)),
      takesGzip: teams.length % 2 === 1,
    })
  }
  return { teams, forms }
}

/** The form as it is appended to its topic. */
export const formRecord = ({ teamId, form }: MadeForm, revision: number): KafkaRecord => ({
  key: `${teamId}/${form.id}`,
  value: JSON.stringify({ revision, form }),
})

const typedFor = (forms: readonly SampleForm[]): string[] =>
  [...exactKinds, 'one misspelt word' as const].flatMap((kind) => typedTexts(kind, forms, 1).map(({ typed }) => typed))

function keyRecord(teamId: string, plaintext: string): KafkaRecord {
  const key = {
    id: `key_${teamId}`,
    name: 'Polling script',
    digest: digestOf(plaintext),
    start: startOf(plaintext),
    state: 'active',
    createdAt: new Date(newestMs).toISOString(),
    createdBy: 'owner@team.example',
    expiresAt: null,
  }
  return { key: `${teamId}/${key.id}`, value: JSON.stringify({ revision: 1, key }) }
}
