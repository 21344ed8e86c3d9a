import { digestOf, plaintextFrom, startOf } from '../../../../src/core/model/accountKey.ts'
import { planForms, renderForm } from '../../../demo/forms.ts'
import { entityId, seededRandom } from '../../../demo/random.ts'
import { waitUntil } from '../../../engines/waiting.ts'
import { askJson } from '../../askJson.ts'
import type { SampleForm } from '../../search/forms.ts'
import { makeTitle } from '../../search/titles.ts'
import { exactKinds, typedTexts } from '../../search/typed.ts'
import type { Stage } from '../../stage.ts'
import type { Append, ServedReplica } from '../replica.ts'
import { newestMs, type SubmissionRecord } from '../submissions.ts'
import type { PollingTeam } from './script.ts'

/** A form in the topic, and what changes when it is edited. */
export type MadeForm = { readonly teamId: string; readonly form: Readonly<Record<string, unknown>> & { id: string } }

const seed = 'mixed'
const formsOfTeam = 30
/** Of each, a script looks at so many again and again. */
const lookedAt = 4
const formEveryMs = 3_600_000
const servedDeadlineMs = 60_000
const keysAtOnce = 100

/**
 * Gives so many of the small teams forms and a key each, by way of Kafka, and returns once the API answers all of them. Every second
 * one takes compressed answers.
 */
export async function raisePollingTeams(
  { origin, append, untilFound }: ServedReplica,
  stage: Stage,
  teams: number,
): Promise<{ readonly teams: readonly PollingTeam[]; readonly forms: readonly MadeForm[] }> {
  const { config } = stage
  const ids = Array.from({ length: teams }, (_, index) => `team_${index}`)
  const keys = ids.map((id) => plaintextFrom(seededBytes(`${seed}/key/${id}`)))
  await appendChunks(
    ids.map((id, index) => keyRecord(id, keys[index] ?? '')),
    (records) => append(records, config.TOPIC_ACCOUNT_KEYS),
  )
  const forms = ids.flatMap(makeForms)
  await appendChunks(
    forms.map(({ made }) => formRecord(made, 1)),
    (records) => append(records, config.TOPIC_FORMS),
  )
  await untilFound()
  const polling: PollingTeam[] = []
  for (const [index, id] of ids.entries()) {
    const accountKey = keys[index] ?? ''
    const own = forms.filter(({ made }) => made.teamId === id)
    polling.push({
      id,
      accountKey,
      records: (await newestOf(origin, accountKey, stage)).slice(0, lookedAt),
      forms: own.slice(0, lookedAt).map(({ made }) => made.form.id),
      typed: typedBy(own.map(({ sample }) => sample)),
      takesGzip: index % 2 === 1,
    })
  }
  return { teams: polling, forms: forms.map(({ made }) => made) }
}

/** The form as it is appended to its topic. */
export const formRecord = ({ teamId, form }: MadeForm, revision: number): SubmissionRecord => ({
  key: `${teamId}/${form.id}`,
  value: JSON.stringify({ revision, form }),
})

function makeForms(teamId: string): { made: MadeForm; sample: SampleForm }[] {
  const random = seededRandom(`${seed}/forms/${teamId}`)
  return Array.from({ length: formsOfTeam }, (_, index) => {
    const createdMs = newestMs - index * formEveryMs
    const [id, title] = [entityId(random, createdMs), makeTitle(random)]
    const createdAt = new Date(createdMs).toISOString()
    const form = { ...random.pick(templates()), id, title: title.text, createdAt, updatedAt: createdAt }
    return { made: { teamId, form }, sample: { teamId, id, title, createdAt } }
  })
}

let rendered: readonly Record<string, unknown>[] | undefined

/** Forms of the sample world, with their questions and reports. */
function templates(): readonly Record<string, unknown>[] {
  rendered ??= planForms(seed, newestMs).map((plan) => renderForm(plan, 0, plan.createdMs))
  return rendered
}

function typedBy(forms: readonly SampleForm[]): string[] {
  return [...exactKinds, 'one misspelt word' as const].flatMap((kind) =>
    typedTexts(kind, forms, 1).map(({ typed }) => typed),
  )
}

function keyRecord(teamId: string, plaintext: string): SubmissionRecord {
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

const seededBytes = (text: string): Uint8Array => {
  const random = seededRandom(text)
  return Uint8Array.from({ length: 32 }, () => random.below(256))
}

async function appendChunks(records: readonly SubmissionRecord[], append: Append): Promise<void> {
  for (let at = 0; at < records.length; at += keysAtOnce) await append(records.slice(at, at + keysAtOnce))
}

/** The newest submissions of a team, once its key has come through. */
async function newestOf(origin: string, accountKey: string, { signal }: Stage): Promise<PollingTeam['records']> {
  const request = {
    method: 'GET',
    path: '/api/v1/records',
    headers: { authorization: `Bearer ${accountKey}` },
    expectedStatus: 200,
  } as const
  let found: PollingTeam['records'] = []
  const answers = async (): Promise<boolean> => {
    const page = await askJson(origin, request, signal).catch(() => undefined)
    const { items = [] } = (page ?? {}) as { items?: PollingTeam['records'] }
    found = items.map(({ id, submittedAt }) => ({ id, submittedAt }))
    return found.length > 0
  }
  if (await waitUntil(answers, { deadlineMs: servedDeadlineMs, signal })) return found
  throw new Error(`A polling team is not served within ${servedDeadlineMs / 1_000} s`)
}
