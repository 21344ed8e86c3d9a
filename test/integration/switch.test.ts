import { randomUUID } from 'node:crypto'
import { Client } from '@elastic/elasticsearch'
import { blockWrites, SwitchRefused, serveGeneration, unblockWrites } from '../../indexer/generations/aliases.ts'
import {
  createGeneration,
  findGenerations,
  type Generation,
  type RequestOptions,
} from '../../indexer/generations/generations.ts'

const prefix = `test-${randomUUID()}`
const options = (): RequestOptions => ({ signal: AbortSignal.timeout(30_000), requestTimeout: 30_000 })
let client: Client
let [old, rebuilt]: (Generation | undefined)[] = []
beforeAll(async () => {
  client = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })
  const config = { INDEX_PREFIX: prefix, INDEX_SHARDS: 1 }
  const first = await createGeneration(client, config, 1, options())
  rebuilt = await createGeneration(client, config, 2, options())
  await serveGeneration(client, prefix, first, options())
  old = (await findGenerations(client, prefix, options()))[0]?.complete
})
afterAll(async () => {
  const index = [old, rebuilt].flatMap((each) => Object.values(each?.indices ?? {}))
  await client.indices.delete({ index, ignore_unavailable: true })
  await client.close()
})

const state = async (): Promise<(readonly [number, boolean, boolean])[]> =>
  (await findGenerations(client, prefix, options())).map(({ number, complete }) => [
    number,
    complete?.isServing ?? false,
    complete?.isWritable ?? false,
  ])

test('a rebuild cannot switch once indexers may write the old generation again, nor while another rebuild has blocked it', async () => {
  if (old === undefined || rebuilt === undefined) throw new Error('the generations are missing')
  const switchAs = (holder: string): Promise<void> =>
    serveGeneration(client, prefix, rebuilt as Generation, options(), { generation: old as Generation, holder })
  await blockWrites(client, old, 'first', options())
  expect(await state()).toEqual([
    [1, true, false],
    [2, false, true],
  ])
  await unblockWrites(client, prefix, old, options())
  await expect(switchAs('first')).rejects.toThrow(SwitchRefused)
  await blockWrites(client, old, 'second', options())
  await expect(switchAs('first')).rejects.toThrow(SwitchRefused)
  expect(await state()).toEqual([
    [1, true, false],
    [2, false, true],
  ])
  await switchAs('second')
  expect(await state()).toEqual([
    [1, false, false],
    [2, true, true],
  ])
})

test('an indexer that comes after the switch changes nothing, whatever it has read before', async () => {
  if (old === undefined) throw new Error('the generation is missing')
  const index = Object.values(old.indices)
  const stateOfOld = async (): Promise<unknown> => {
    const found = await client.indices.get({ index }, options())
    return index.map((each) => [found[each]?.aliases, found[each]?.settings?.index?.blocks])
  }
  const before = await stateOfOld()
  await unblockWrites(client, prefix, old, options())
  expect(await stateOfOld()).toEqual(before)
  expect(await state()).toEqual([
    [1, false, false],
    [2, true, true],
  ])
})
