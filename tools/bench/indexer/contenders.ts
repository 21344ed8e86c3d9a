import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Generations } from '../../../indexer/generations/generations.ts'
import { aliasOf } from '../../../src/core/elasticsearch/indices.ts'
import type { Contender } from '../comparison.ts'
import { type Program, startProgram } from '../program.ts'
import type { Stage } from '../stage.ts'
import { type Body, bodiesOf, ceilingGeneration, ceilingPrefix, recordsIn, topicOf } from './feed.ts'
import { type Indexing, measureIndexing } from './indexing.ts'

export const names = {
  ceiling: 'ready-made bulk',
  indexer: 'indexer',
  withoutAnswers: 'indexer, INDEX_ANSWERS=false',
} as const

const requestTimeout = 30_000
/** Bulk requests of the ceiling: as fast as any of 2, 3 and 4. */
export const bulksAtOnce = 4

/** Warm-ups use only `fewRecords`. */
export function contendersOf(
  stage: Stage,
  bodies: readonly Body[],
  { records, fewRecords, warmUps }: { readonly records: number; readonly fewRecords: number; readonly warmUps: number },
): Contender<Indexing>[] {
  const sizeIn = (round: number): number => (round < warmUps ? fewRecords : records)
  return [
    { name: names.ceiling, run: (round) => runCeiling(stage, bodies, sizeIn(round)) },
    { name: names.indexer, run: (round) => runIndexer(stage, `indexer-${round}`, sizeIn(round), {}) },
    {
      name: names.withoutAnswers,
      run: (round) => runIndexer(stage, `plain-${round}`, sizeIn(round), { INDEX_ANSWERS: 'false' }),
    },
  ]
}

async function runCeiling(stage: Stage, bodies: readonly Body[], records: number): Promise<Indexing> {
  const { config, client, folder, signal, urls } = stage
  const chosen = bodiesOf(bodies, records)
  const list = join(folder, 'data', 'bodies', 'list.txt')
  await writeFile(list, chosen.map(({ path }) => path).join('\n'))
  const ofCeiling = { ...config, INDEX_PREFIX: ceilingPrefix }
  return await withoutIndicesAfter(stage, ceilingPrefix, async () => {
    const { indices } = await new Generations(client, ofCeiling, { signal, requestTimeout }).create(ceilingGeneration)
    const targets = [indices.submissions, indices['submission-details']]
    const args = [urls.ELASTICSEARCH_URL, targets.join(','), String(bulksAtOnce), list]
    const start = (): Promise<Program> => startProgram(stage, 'ceiling', 'indexer/push.ts', args)
    return await measureIndexing(stage, { records: recordsIn(chosen), targets, start })
  })
}

/** With empty indices, and the default settings except `settings`. */
async function runIndexer(
  stage: Stage,
  name: string,
  records: number,
  settings: Readonly<Record<string, string>>,
): Promise<Indexing> {
  const environment = { ...settings, INDEX_PREFIX: name, CONSUMER_GROUP: name, TOPIC_SUBMISSIONS: topicOf(records) }
  const start = async (): Promise<Program> => {
    const indexer = await stage.start('indexer', environment, join(stage.logsFolder, name))
    // If the indexer ends, the stage aborts.
    return { ...indexer, expectRunning: async () => undefined }
  }
  const targets = [aliasOf(name, 'submissions'), aliasOf(name, 'submission-details')]
  return await withoutIndicesAfter(stage, name, () => measureIndexing(stage, { records, targets, start }))
}

/** Deletes the indices with the prefix after `run`. */
async function withoutIndicesAfter<T>({ client, signal }: Stage, prefix: string, run: () => Promise<T>): Promise<T> {
  const outcome = await run()
  const index = Object.keys(await client.indices.get({ index: `${prefix}*` }, { signal }))
  if (index.length > 0) await client.indices.delete({ index }, { signal })
  return outcome
}
