import { runCommand } from '../support/command.ts'
import { formEntity } from '../support/entities.ts'
import type { Program } from '../support/programs.ts'
import { usePipeline } from '../support/usePipeline.ts'

const pipeline = usePipeline({ forEachTest: true })

const formRecord = (revision: number, title: string, changes: Record<string, unknown> = {}) => ({
  key: 'acme/a',
  value: JSON.stringify({ revision, form: formEntity({ id: 'a', title }), ...changes }),
})
const outcomesOf = async (indexer: Program): Promise<number[]> =>
  await Promise.all(
    ['indexed', 'stale', 'dead-letter'].map((outcome) => indexer.metric('tidemark_records_total', `"${outcome}"`)),
  )
const titleIn = async (api: Program): Promise<string[]> => {
  await pipeline.untilApplied(api, 'acme')
  return await titlesServed(api)
}
/** In the list, and as a single answer. */
const titlesServed = async (api: Program): Promise<string[]> => {
  const list = (await pipeline.get(api, 'acme', '/api/v1/forms')).body as { items: { title: string }[] }
  const detail = (await pipeline.get(api, 'acme', '/api/v1/forms/a')).body as { title: string }
  return [...list.items.map(({ title }) => title), detail.title]
}

test('the first content of a revision stays, another one is a dead letter, and the same again is stale', async () => {
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(['acme'])
  const api = await pipeline.startApi()
  const other = formRecord(3, 'other')
  // Both in one request, and then each against what is stored.
  await pipeline.produce('forms', [formRecord(3, 'first'), other])
  expect(await titleIn(api)).toEqual(['first', 'first'])
  await pipeline.produce('forms', [formRecord(3, 'first'), formRecord(3, 'first', { unserved: true })])
  await pipeline.produce('forms', [other, formRecord(2, 'late')])
  expect(await titleIn(api)).toEqual(['first', 'first'])
  const letters = await pipeline.deadLetters(2)
  expect(letters.map(({ value, headers }) => [String(value), headers['tidemark.path']])).toEqual([
    [other.value, 'revision'],
    [other.value, 'revision'],
  ])
  // The key's record counts as indexed.
  expect(await outcomesOf(indexer)).toEqual([2, 3, 2])
  expect(await indexer.metric('tidemark_revision_conflicts_total')).toBe(2)
  await pipeline.produce('forms', [formRecord(4, 'raised')])
  expect(await titleIn(api)).toEqual(['raised', 'raised'])
})

test('a content that is appended under a known revision while no indexer runs is not served by a rebuild', async () => {
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(['acme'])
  const api = await pipeline.startApi()
  await pipeline.produce('forms', [formRecord(3, 'first')])
  expect(await titleIn(api)).toEqual(['first', 'first'])
  expect(await indexer.end('SIGTERM')).toBe(0)
  await pipeline.produce('forms', [formRecord(3, 'other')])
  expect(await runCommand('rebuild', [], pipeline.names)).toMatchObject({ code: 0 })
  expect(await titlesServed(api)).toEqual(['first', 'first'])
})
