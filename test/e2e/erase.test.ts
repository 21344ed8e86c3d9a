import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Receipt } from '../../indexer/erase/erase.ts'
import { Generations } from '../../indexer/generations/generations.ts'
import type { EngineName } from '../../tools/engines/engines.ts'
import { fillerKey, hurryCleaner } from '../support/compaction.ts'
import { eventually } from '../support/eventually.ts'
import { untilCommitted } from '../support/indexingProgress.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Run, runCommand } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { createTopicsWith, documentTopics, withAdmin } from '../support/topics.ts'

let repository: string
const engines = useStarted('the engines', () =>
  startOwnEngines(undefined, {
    adapt: (definition) => {
      if (definition.kind !== 'elasticsearch') return definition
      repository = join(definition.dataFolder, 'repository')
      const prepare: typeof definition.prepare = async (port, signal) => {
        const command = await definition.prepare(port, signal)
        return { ...command, args: [...command.args, `-Epath.repo=${repository}`] }
      }
      return { ...definition, prepare }
    },
  }),
)
const pipeline = usePipeline()

const team = 'acme'
const lagMs = 2_000

/** Words that no compression shortens: a part of them is in some file as it is, wherever a block of the file begins. */
const plantedWords = (): string[] => Array.from({ length: 40 }, () => randomBytes(16).toString('base64url'))

/** The files of an engine that hold one of the words. */
async function filesWith(words: readonly string[], name: EngineName): Promise<string[]> {
  const entries = await readdir(engines.engine(name).dataFolder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const found: string[] = []
  for (const file of files) {
    // A merge may delete it meanwhile.
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    if (words.some((word) => bytes.includes(word))) found.push(file)
  }
  return found
}

async function enginesWith(words: readonly string[]): Promise<EngineName[]> {
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  await redis.save()
  redis.disconnect()
  const names = ['elasticsearch', 'kafka', 'redis'] as const
  const found = await Promise.all(names.map((name) => filesWith(words, name)))
  return names.filter((_, at) => (found[at] ?? []).length > 0)
}

const record = (id: string, words: readonly string[] = []) =>
  stateRecord('submissions', `${team}/${id}`, 1, { data: { words } })
const erase = (id: string): Promise<Run> =>
  runCommand('erase', ['--team', team, '--submission', id, '--json'], pipeline.names)
async function receiptOf(id: string, code: number): Promise<Receipt> {
  const run = await erase(id)
  expect([run.code, run.stderr]).toEqual([code, expect.not.stringContaining('erase: ')])
  return JSON.parse(run.stdout) as Receipt
}
const namesOf = ({ places }: Receipt, state: string): string[] =>
  places
    .filter((place) => place.state === state)
    .map(({ name }) => name)
    .sort()
const indices = (): string => `${pipeline.names.INDEX_PREFIX}-submission*`
const flush = () => pipeline.elasticsearch.indices.flush({ index: indices(), force: true, wait_if_ongoing: true })

async function createSourceTopics(): Promise<void> {
  const soon = { 'max.compaction.lag.ms': String(lagMs), 'file.delete.delay.ms': '500' }
  await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 2, soon)
  await withAdmin(pipeline.kafka, hurryCleaner)
}

test('when the receipt reports that nothing is left of a deleted submission, no file of any engine contains a word of it', async () => {
  await createSourceTopics()
  const { indexer, api } = await startServing(pipeline, { teams: [team] })
  const [among, alone] = [plantedWords(), plantedWords()]
  const others = Array.from({ length: 300 }, (_, at) => record(`s-${at}`))
  await pipeline.produce('submissions', [...others, record('among', among)])
  await pipeline.untilApplied(api, team)
  await flush()
  await pipeline.produce('submissions', [record('alone', alone)])
  await pipeline.untilApplied(api, team)
  await flush()
  for (const id of ['among', 'alone'])
    expect(await pipeline.get(api, team, `/api/v1/records/${id}`)).toMatchObject({ status: 200 })
  for (const words of [among, alone]) expect(await enginesWith(words)).toEqual(['elasticsearch', 'kafka'])

  expect(await erase('among')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/has not deleted/) })
  expect(await erase('no-such')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/neither topic/) })

  const deletions = ['among', 'alone'].map((id) => ({ key: `${team}/${id}`, value: null }))
  await pipeline.produce('submissions', deletions)
  const first = await receiptOf('among', 1)
  expect(namesOf(first, 'left')).toEqual([expect.stringMatching(`^${pipeline.names.TOPIC_SUBMISSIONS}/`)])
  expect(namesOf(first, 'removed')).toEqual([
    expect.stringMatching('-details-'),
    expect.stringMatching('-submissions-'),
  ])
  expect(await enginesWith(among)).toEqual(['kafka'])
  // The same merge has removed what was deleted before it began.
  expect(await enginesWith(alone)).toEqual(['kafka'])
  const kept = await pipeline.elasticsearch.indices.getSettings({ index: indices(), flat_settings: true })
  expect(JSON.stringify(kept)).not.toContain('expunge_deletes_allowed')

  const dueMs = Date.parse(first.places.find(({ state }) => state === 'left')?.until ?? '')
  expect(dueMs - Date.parse(first.deletedAt)).toBeLessThan(lagMs + 1_000)
  await eventually(() => Date.now() > dueMs)
  // Without another record, its segment stays open.
  for (const partition of [0, 1]) await pipeline.produce('submissions', [{ partition, key: fillerKey, value: null }])
  await eventually(async () => (await filesWith([...among, ...alone], 'kafka')).length === 0)
  expect(await enginesWith([...among, ...alone])).toEqual([])
  for (const id of ['among', 'alone']) {
    const last = await receiptOf(id, 0)
    expect([last.erased, namesOf(last, 'key').length, namesOf(last, 'memory')]).toEqual([true, 1, ['cached answers']])
  }
  expect((await pipeline.get(api, team, '/api/v1/records?limit=1')).status).toBe(200)
  for (const program of [indexer, api]) await program.end('SIGTERM')
})

test('the receipt names the data that the command cannot remove, and this data is still there', async () => {
  const indexer = await pipeline.startIndexer()
  const words = plantedWords()
  await pipeline.produce('submissions', [
    record('kept', words),
    { key: `${team}/kept`, value: JSON.stringify({ revision: 2, submission: { id: 'kept', data: { words } } }) },
    // A producer has taken the key of another one.
    { key: `${team}/other`, value: JSON.stringify({ revision: 1, submission: { id: 'kept', data: { words } } }) },
  ])
  await pipeline.produce('forms', [{ key: `${team}/f`, value: `{"submission":{"id":"kept","data":["${words.join()}` }])
  await untilCommitted(pipeline)
  await flush()
  const { elasticsearch } = pipeline
  await elasticsearch.snapshot.createRepository({
    name: 'backups',
    repository: { type: 'fs', settings: { location: repository } },
  })
  const snapshot = { repository: 'backups', snapshot: 'before' }
  await elasticsearch.snapshot.create({ ...snapshot, indices: indices(), wait_for_completion: true })
  await pipeline.produce('submissions', [{ key: `${team}/kept`, value: null }])
  const [serving = ''] = Object.keys(await elasticsearch.indices.get({ index: `${indices()}-v*` }))
  const [retired, filled] = [serving.replace(/\d+$/, '0'), serving.replace(/\d+$/, '8')]
  for (const index of [retired, filled]) await elasticsearch.indices.create({ index })
  await elasticsearch.index({ index: retired, id: `${team}/kept`, routing: team, document: { words }, refresh: true })

  const receipt = await receiptOf('kept', 1)
  const letters = pipeline.names.TOPIC_DEAD_LETTERS
  const lettersLeft = [0, 1, 2].map((offset) => `${letters}/0/${offset}`)
  const misplaced = expect.stringMatching(`^${pipeline.names.TOPIC_FORMS}/\\d/0$`)
  const expected = [retired, filled, 'snapshot backups/before', ...lettersLeft, misplaced]
  const left = namesOf(receipt, 'left').filter((name) => !name.startsWith(pipeline.names.TOPIC_SUBMISSIONS))
  expect([left.length, left]).toEqual([expected.length, expect.arrayContaining(expected)])
  const underOther = receipt.places.filter(({ detail }) => detail.includes(`under the key ${team}/other`))
  expect(underOther.map(({ name }) => name.startsWith(pipeline.names.TOPIC_SUBMISSIONS)).sort()).toEqual([false, true])
  const letter = receipt.places.find(({ name }) => name === `${letters}/0/0`)
  const keptDays = (Date.parse(letter?.until ?? '') - Date.parse(receipt.deletedAt)) / 86_400_000
  expect(Math.round(keptDays)).toBe(21)
  const files = [...(await filesWith(words, 'elasticsearch')), ...(await filesWith(words, 'kafka'))]
  expect(files.some((file) => file.startsWith(repository))).toBe(true)
  expect(files.some((file) => file.includes(`/${letters}-0/`))).toBe(true)

  await elasticsearch.indices.delete({ index: [retired, filled] })
  const eraseAgain = (...more: string[]) =>
    runCommand('erase', ['--team', team, '--submission', 'kept', ...more], pipeline.names)
  const { lookedAt } = await receiptOf('kept', 1)
  await eventually(() => Date.now() > Date.parse(lookedAt) + 6_000)
  await elasticsearch.snapshot.create({ ...snapshot, snapshot: 'after', indices: indices(), wait_for_completion: true })
  const early = await eraseAgain('--clean-since', '2026-01-01T00:00:00Z')
  expect(early).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/is before the deletion/) })
  // Nobody can look into a snapshot: also where no index has anything left, it was perhaps begun before that.
  const anew = await eraseAgain()
  for (const name of ['before', 'after']) expect(anew.stdout).toMatch(`left\tsnapshot backups/${name}\tbegun`)
  const since = await eraseAgain('--clean-since', lookedAt)
  expect(since.stdout).toMatch('left\tsnapshot backups/before\tbegun')
  expect(since.stdout).not.toContain('backups/after')
  await elasticsearch.snapshot.delete(snapshot)
  const last = await eraseAgain('--clean-since', lookedAt)
  expect(last.stdout).not.toContain('snapshot')
  expect([last.code, last.stdout]).toEqual([1, expect.stringMatching(`\nleft\t${letters}/0/0\trecord of .*; until `)])
  expect(await filesWith(words, 'elasticsearch')).toEqual([])
  await indexer.end('SIGTERM')

  // Restored over its closed indices, a snapshot leaves their UUIDs: what was written since is gone, and offsets must not count.
  const config = { INDEX_PREFIX: pipeline.names.INDEX_PREFIX, INDEX_SHARDS: 1, INDEX_ANSWERS: true }
  const request = { signal: AbortSignal.timeout(60_000), requestTimeout: 30_000 }
  const generations = new Generations(elasticsearch, config, request)
  const before = await generations.serving()
  const restored = { ...snapshot, snapshot: 'after', indices: indices(), wait_for_completion: true }
  await elasticsearch.indices.close({ index: Object.keys(await elasticsearch.indices.get({ index: indices() })) })
  await elasticsearch.snapshot.restore(restored)
  const after = await generations.serving()
  expect(after?.number).toBe(before?.number)
  expect(after?.tag).not.toBe(before?.tag)
})
