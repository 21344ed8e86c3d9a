import { type Client, errors, type estypes } from '@elastic/elasticsearch'
import { aliasOf, documentKinds, type PhysicalIndex, writeAliasOf } from '../../src/core/stores/indices.ts'
import { findGenerations, type Generation, type RequestOptions, servedAlias } from './generations.ts'

/**
 * Restores the write aliases of a generation and removes its write block. Undoes `blockWrites`; the request of the aliases also ends the
 * right of that rebuild to switch. Does nothing when the rebuild, or another one, has switched meanwhile, or another indexer has done this.
 */
export async function unblockWrites(
  client: Client,
  prefix: string,
  { indices, isServing }: Pick<Generation, 'indices' | 'isServing'>,
  options: RequestOptions,
): Promise<void> {
  const index = Object.values(indices)
  const found = await client.indices.getAlias({ index }, options)
  const actions = documentKinds.flatMap((kind): estypes.IndicesUpdateAliasesAction[] => {
    const [each, read] = [indices[kind], aliasOf(prefix, kind)]
    const markers = Object.keys(found[each]?.aliases ?? {}).filter((alias) => alias.startsWith(switchMarker(each, '')))
    // Elasticsearch has no condition but `must_exist` of a removal: what still serves loses its read alias and gets it back.
    const conditions = [...markers, ...(isServing ? [read] : [])]
    return [
      ...conditions.map((alias) => ({ remove: { index: each, alias, must_exist: true } })),
      ...(isServing ? [{ add: { index: each, alias: read } }] : []),
      { add: { index: each, alias: writeAliasOf(each), is_write_index: true } },
    ]
  })
  try {
    await client.indices.updateAliases({ actions }, options)
  } catch (error) {
    if (isAliasMissing(error)) return
    throw error
  }
  await client.indices.putSettings({ index, settings: { 'index.blocks.write': null } }, options)
}

/**
 * Blocks writes to a generation; when it returns, writes in flight are finished or rejected. The write aliases are replaced by marker
 * aliases of the rebuild `holder` first: a missing write alias tells indexers that a rebuild did this. They undo it once no rebuild holds
 * the watermark. While the markers exist, nobody has written.
 */
export async function blockWrites(
  client: Client,
  { indices }: Pick<Generation, 'indices'>,
  holder: string,
  options: RequestOptions,
): Promise<void> {
  const actions = Object.values(indices).flatMap((index): estypes.IndicesUpdateAliasesAction[] => [
    { remove: { index, alias: writeAliasOf(index), must_exist: false } },
    { add: { index, alias: switchMarker(index, holder), is_hidden: true } },
  ])
  await client.indices.updateAliases({ actions }, options)
  for (const index of Object.values(indices)) await client.indices.addBlock({ index, block: 'write' }, options)
}

/**
 * Points the read aliases to a generation, in one request, and removes the write aliases of every lower one. With `blocked`, the
 * request is refused (`SwitchRefused`) unless the markers that `blockWrites` has set are still there: otherwise the other generation may have
 * been written since.
 */
export async function serveGeneration(
  client: Client,
  prefix: string,
  { number }: Pick<Generation, 'number'>,
  options: RequestOptions,
  blocked?: { readonly generation: Pick<Generation, 'indices'>; readonly holder: string },
): Promise<void> {
  const generations = await findGenerations(client, prefix, options)
  const markers = Object.values(blocked?.generation.indices ?? {}).map((index) => ({
    remove: { index, alias: switchMarker(index, blocked?.holder ?? ''), must_exist: true },
  }))
  const aliases = generations.flatMap((each) =>
    [...each.indices].flatMap(([kind, { name, aliases }]): estypes.IndicesUpdateAliasesAction[] => {
      const [read, write] = [aliasOf(prefix, kind), writeAliasOf(name)]
      if (each.number === number)
        return [{ add: { index: name, alias: read } }, { add: { index: name, alias: servedAlias(prefix, number) } }]
      const isRetired = each.number < number
      return [read, ...(isRetired ? [write] : [])].flatMap((alias) =>
        aliases.has(alias) ? [{ remove: { index: name, alias, must_exist: false } }] : [],
      )
    }),
  )
  await client.indices.updateAliases({ actions: [...markers, ...aliases] }, options).catch((error: unknown) => {
    throw isAliasMissing(error) ? new SwitchRefused() : error
  })
}

/** The old generation may have been written since its writes were blocked. */
export class SwitchRefused extends Error {
  constructor() {
    super(
      'indexers write the old generation again: the switch came too late. Nothing has changed; run the rebuild again',
    )
    this.name = 'SwitchRefused'
  }
}

/** Exists while the rebuild `holder` has blocked writes to an index. */
const switchMarker = (index: PhysicalIndex, holder: string): string => `${index}-switch-${holder}`

const isAliasMissing = (error: unknown): boolean =>
  error instanceof errors.ResponseError && error.message.includes('aliases_not_found_exception')
