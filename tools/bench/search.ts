import { formWrites } from '../../indexer/convertRecord.ts'
import { aliasOf } from '../../src/core/elasticsearch/indices.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { logPosition } from '../../src/core/model/logPosition.ts'
import { readFormRecord } from '../../src/core/model/record.ts'
import { type Comparison, type Rounds, runRounds, together } from './comparison.ts'
import { number } from './page.ts'
import { createServedKey, startReplica } from './replica.ts'
import type { Counts, Results } from './report.ts'
import { compareSearches } from './search/comparisons.ts'
import { createForms, recordOf, type SampleForm, type SampleForms, type SampleTeam } from './search/forms.ts'
import { plainDefinition, plainIndex, plainSource } from './search/plainIndex.ts'
import { choosePools, expectSameLists, type ServedTeam } from './search/pools.ts'
import { bytesOfDocument, storeWrites, type Write } from './search/storeWrites.ts'
import type { Stage } from './stage.ts'

type Size = { readonly forms: number; readonly teams: number; readonly rounds: Rounds }

export const fullSize: Size = { forms: 1_000_000, teams: 5_000, rounds: { warmUps: 1, measured: 3 } }
export const smallSize: Size = { forms: 20_000, teams: 100, rounds: { warmUps: 0, measured: 1 } }

/** For a team of the median size and for the largest team: title search beside their lists and beside a plain index. */
export async function benchSearch(stage: Stage, { rounds, ...size }: Size): Promise<Results> {
  const forms = createForms(size)
  const { origin } = await startReplica(stage)
  const teams = [
    { team: await serve('Small team', forms.smallTeam, forms, origin, stage), mostLists: 2 },
    { team: await serve('Largest team', forms.largestTeam, forms, origin, stage), mostLists: 4 },
  ]
  const sizes = await storeForms(stage, forms)
  const comparisons: Comparison[] = []
  for (const { team, mostLists } of teams) {
    await expectSameLists(origin, team, stage)
    const pools = await choosePools(origin, team, stage)
    comparisons.push(compareSearches(origin, { team, pools, mostLists }, rounds, stage))
  }
  const { contenders, sections } = together(comparisons)
  return {
    title: 'Title search through the API',
    about: `${size.forms.toLocaleString('en')} made titles in three languages, of ${size.teams.toLocaleString('en')} teams of uneven size. The plain index is queried by match with fuzziness AUTO, or wildcard. Each text finds titles of its kind.`,
    sections,
    samples: await runRounds('Measuring', contenders, rounds),
    counts: [sizes],
    compared: [],
  }
}

async function serve(
  label: string,
  { id, forms: count }: SampleTeam,
  forms: SampleForms,
  origin: string,
  stage: Stage,
): Promise<ServedTeam> {
  const name = `${label}, ${count.toLocaleString('en')} titles`
  return { name, id, accountKey: await createServedKey(stage, origin, id), forms: [...forms.ofTeam(id)] }
}

/** Each form goes to the serving index, as an indexer would store it, and to the plain index. Resolves with the bytes of a document. */
async function storeForms(stage: Stage, forms: SampleForms): Promise<Counts> {
  const { client, config, signal } = stage
  const served = aliasOf(config.INDEX_PREFIX, 'forms')
  await client.indices.create({ index: plainIndex, ...plainDefinition() }, { signal })
  const writes = Iterator.from(forms.all()).flatMap((form) => [servedWrite(served, form), plainWrite(form)])
  const indices = [served, plainIndex]
  await storeWrites(stage, writes, { label: 'Storing titles', total: 2 * forms.size.forms, indices })
  const rowOf = async (name: string, index: string): Promise<string[]> => [
    name,
    number(await bytesOfDocument(stage, index)),
  ]
  return {
    title: 'Size of a list document on disk',
    header: ['', 'bytes'],
    rows: [await rowOf('replica', served), await rowOf('plain index', plainIndex)],
  }
}

function servedWrite(index: string, form: SampleForm): Write {
  const { key, value } = recordOf(form)
  const change = readFormRecord(Buffer.from(key), Buffer.from(value))
  if (!change.ok) throw new Error(`${key} is no form`)
  const write = formWrites(change.value, {
    changedAt: form.createdAt as Instant,
    logPosition: logPosition({ partition: 0, offset: 0n }),
  }).find(({ kind }) => kind === 'forms')
  if (write === undefined) throw new Error(`${key} has no list document`)
  return { index, id: write.id, teamId: write.teamId, source: write.source.toString() }
}

const plainWrite = (form: SampleForm): Write => ({
  index: plainIndex,
  id: `${form.teamId}/${form.id}`,
  teamId: form.teamId,
  source: plainSource(form),
})
