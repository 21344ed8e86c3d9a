import { type Client, errors, type estypes } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/config/config.ts'
import { defaultRequestTimeoutMs, type RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import {
  aliasOf,
  type DocumentKind,
  definitionOf,
  documentKinds,
  isList,
  type PhysicalIndex,
  physicalName,
  writeAliasesOf,
  writeAliasOf,
} from '../../src/core/elasticsearch/indices.ts'
import { entityTypes } from '../../src/core/model/ids.ts'
import { newCursorKey } from '../../src/core/redis/visiblePositions.ts'
import { type FoundGeneration, type Generation, generationsIn, requestedFields, servedAlias } from './generation.ts'

/**
 * Override templates of the cluster: documents are stored byte for byte, and an acknowledged write is on disk, since commits and visible positions promise it.
 */
const ownSettings = {
  default_pipeline: '_none',
  final_pipeline: '_none',
  'mapping.source.mode': 'stored',
  'translog.durability': 'request',
}

type IndexConfig = Pick<Config, 'INDEX_PREFIX' | 'INDEX_SHARDS' | 'INDEX_ANSWERS'>

export class Generations {
  readonly #client: Client
  readonly #config: IndexConfig
  readonly #options: RequestOptions
  /** Shorter than the client waits: Elasticsearch makes no change after the client has given up. */
  readonly #waits: { readonly master_timeout: string; readonly timeout: string }

  constructor(client: Client, config: IndexConfig, options: RequestOptions) {
    this.#client = client
    this.#config = config
    this.#options = options
    const waitMs = Math.floor((options.requestTimeout ?? defaultRequestTimeoutMs) / 2)
    this.#waits = { master_timeout: `${waitMs}ms`, timeout: `${waitMs}ms` }
  }

  /** Lowest number first, also those with missing indices. */
  async find(): Promise<FoundGeneration[]> {
    const states = await this.#client.indices.get(
      {
        index: documentKinds.map((kind) => `${aliasOf(this.#config.INDEX_PREFIX, kind)}-v*`),
        features: ['aliases', 'settings', 'mappings'],
        expand_wildcards: ['open', 'closed'],
        filter_path: requestedFields.map((path) => `*.${path}`).join(),
      },
      this.#options,
    )
    return generationsIn(states, this.#config.INDEX_PREFIX, this.#config.INDEX_ANSWERS)
  }

  /** Undefined if the read aliases name no generation, or one with missing indices. */
  async serving(): Promise<Generation | undefined> {
    return (await this.find()).find(({ complete }) => complete?.isServing)?.complete
  }

  /** Creates the missing indices. `rebuildId`: undefined for indexers. Several processes may call this at once. */
  async create(number: number, rebuildId?: string): Promise<Generation> {
    await Promise.all(documentKinds.map((kind) => this.#createIndex(kind, number, rebuildId)))
    const created = (await this.find()).find((generation) => generation.number === number)?.complete
    if (created === undefined) throw new Error(`generation ${number} is not complete`)
    await this.expectOwnSettings(created)
    return created
  }

  /**
   * Creates a generation for the rebuild with this id, or takes over one that an earlier rebuild has left unfinished. Rejects if it has served, or if a third
   * rebuild takes it over at the same moment.
   *
   * The earlier rebuild may still be alive (it was frozen). So it is fenced off: each rebuild writes by write aliases that end with its id, and those of the
   * earlier one are removed.
   */
  async fill(number: number, rebuildId: string): Promise<Generation> {
    const created = await this.create(number, rebuildId)
    const { indices } = created
    const names = Object.values(indices)
    const states = await this.#client.indices.getAlias({ index: names }, this.#options)
    const writersOf = (index: PhysicalIndex): readonly string[] =>
      Object.keys(states[index]?.aliases ?? {}).filter((alias) => alias.startsWith(writeAliasOf(index)))
    const hasServed = (index: PhysicalIndex): boolean =>
      states[index]?.aliases[servedAlias(this.#config.INDEX_PREFIX, number)] !== undefined
    const notOurs = new Error(`generation ${number} is another rebuild's: run the rebuild again`)
    if (names.some((index) => writersOf(index).length === 0 || hasServed(index))) throw notOurs
    // 1. Later requests of the earlier rebuild fail.
    const writeAliases = writeAliasesOf(indices, rebuildId)
    await this.#updateAliases(
      documentKinds.flatMap((kind): estypes.IndicesUpdateAliasesAction[] => [
        ...writersOf(indices[kind]).map((alias) => ({ remove: { index: indices[kind], alias, must_exist: true } })),
        { add: { index: indices[kind], alias: writeAliases[kind], is_write_index: true } },
      ]),
    ).catch((error: unknown) => {
      throw isError(error, 'aliases_not_found_exception') ? notOurs : error
    })
    // 2. Ends its requests in flight: `#blockWrites` waits for writes that have reached a shard.
    const isTakenOver = names.some((index) => !writersOf(index).includes(writeAliasOf(index, rebuildId)))
    if (isTakenOver)
      try {
        await this.#blockWrites(names)
      } finally {
        await this.#unblockWrites(names)
      }
    return { ...created, writeAliases }
  }

  async #createIndex(kind: DocumentKind, number: number, rebuildId?: string): Promise<void> {
    const { version, settings, mappings } = definitionOf(kind, this.#config.INDEX_ANSWERS)
    const index = physicalName(this.#config.INDEX_PREFIX, kind, version, number)
    const aliases = { [writeAliasOf(index, rebuildId)]: { is_write_index: true } }
    const allSettings = { ...settings, ...ownSettings, number_of_shards: this.#config.INDEX_SHARDS }
    const meta = isList(kind) ? { _meta: { cursorKey: newCursorKey() } } : {}
    await this.#client.indices
      .create(
        { index, settings: allSettings, mappings: { ...mappings, ...meta }, aliases, ...this.#waits },
        this.#options,
      )
      .catch((error: unknown) => {
        if (!isError(error, 'resource_already_exists_exception')) throw error
      })
  }

  /** Deletes a new generation, and throws, if templates of the cluster have given it settings that lose documents. */
  async expectOwnSettings({ hasServed, foreignSettings, indices }: Generation): Promise<void> {
    if (hasServed || foreignSettings.length === 0) return
    await this.#delete(Object.values(indices))
    throw new Error(`a template of the cluster adds to our indices what loses documents: ${foreignSettings.join(', ')}`)
  }

  /** Stores in the mappings what a rebuild knows only at its end, before the generation serves. */
  async storeMeta(
    { indices }: Pick<Generation, 'indices'>,
    { cursorKeys, hasCarriedOver }: Pick<Generation, 'cursorKeys' | 'hasCarriedOver'>,
  ): Promise<void> {
    for (const type of entityTypes) {
      const meta = { cursorKey: cursorKeys[type], hasCarriedOver: hasCarriedOver[type] }
      await this.#client.indices.putMapping({ index: indices[type], _meta: meta, ...this.#waits }, this.#options)
    }
  }

  async delete({ indices }: Pick<FoundGeneration, 'indices'>): Promise<void> {
    await this.#delete(indices.map(({ name }) => name))
  }

  async #delete(index: PhysicalIndex[]): Promise<void> {
    await this.#client.indices.delete({ index, ignore_unavailable: true, ...this.#waits }, this.#options)
  }

  /** Counts open searches, points in time and scrolls: 0 if an index is gone; `Infinity` if a node did not answer. */
  async countReaders(generation: Pick<Generation, 'indices'>): Promise<number> {
    const stats = await this.#client.indices
      .stats({ index: Object.values(generation.indices), metric: 'search' }, this.#options)
      .catch(unlessRemoved(generation))
    return stats !== undefined && stats._shards.failed > 0 ? Infinity : (stats?._all.total?.search?.open_contexts ?? 0)
  }

  /**
   * Makes a generation serve, in one request: moves the read aliases, replaces a rebuild's write aliases by those of indexers, and removes the write aliases of
   * lower generations. `isSwitch`: Redis names the generation already, to which a rebuild has switched. Rejects with `AliasesMoved`, without any change, if
   * another process has removed a write alias of the rebuild or, if `isSwitch`, moved a read alias.
   */
  async serve({ number }: Pick<Generation, 'number'>, isSwitch = false): Promise<void> {
    const generations = await this.find()
    if (!generations.some((generation) => generation.number === number && generation.complete !== undefined))
      throw new Error(`generation ${number} is not complete any more`)
    const actions = generations.flatMap((generation) =>
      generation.indices.flatMap(
        ({ kind, name: index, state: { aliases = {} } }): estypes.IndicesUpdateAliasesAction[] => {
          const readAlias = aliasOf(this.#config.INDEX_PREFIX, kind)
          const writeAlias = writeAliasOf(index)
          if (generation.number === number) {
            const ofRebuilds = Object.keys(aliases).filter((alias) => alias.startsWith(`${writeAlias}-`))
            return [
              ...ofRebuilds.map((alias) => ({ remove: { index, alias, must_exist: true } })),
              { add: { index, alias: writeAlias, is_write_index: true } },
              ...[readAlias, servedAlias(this.#config.INDEX_PREFIX, number)].map((alias) => ({
                add: { index, alias },
              })),
            ]
          }
          const removed = [readAlias, ...(generation.number < number ? [writeAlias] : [])]
          return removed
            .filter((alias) => alias in aliases)
            .map((alias) => ({ remove: { index, alias, must_exist: isSwitch && alias === readAlias } }))
        },
      ),
    )
    await this.#updateAliases(actions).catch((error: unknown) => {
      throw isError(error, 'aliases_not_found_exception') ? new AliasesMoved() : error
    })
  }

  async restoreWriteAliases({ indices }: Pick<Generation, 'indices'>): Promise<void> {
    await this.#updateAliases(
      Object.values(indices).map((index) => ({ add: { index, alias: writeAliasOf(index), is_write_index: true } })),
    )
  }

  async #blockWrites(indices: readonly PhysicalIndex[]): Promise<void> {
    for (const index of indices) {
      // `shards_acknowledged` is not checked: it is false for an index that a killed rebuild has left with the block.
      const blocked = await this.#client.indices.addBlock({ index, block: 'write', ...this.#waits }, this.#options)
      if (!blocked.acknowledged) throw new Error(`writes to ${index} may still be under way: run the rebuild again`)
    }
  }

  /** The setting `blocks.write` would not remove a block that Elasticsearch is still adding. */
  async #unblockWrites(index: PhysicalIndex[]): Promise<void> {
    expectAcknowledged(await this.#client.indices.removeBlock({ index, block: 'write', ...this.#waits }, this.#options))
  }

  async #updateAliases(actions: estypes.IndicesUpdateAliasesAction[]): Promise<void> {
    expectAcknowledged(await this.#client.indices.updateAliases({ actions, ...this.#waits }, this.#options))
  }
}

/** Another process has moved an alias: nothing was changed. */
export class AliasesMoved extends Error {
  override readonly name = 'AliasesMoved'

  constructor() {
    super('aliases have been moved meanwhile')
  }
}

/** The master may have made an unconfirmed change: so each change can be repeated without harm. */
function expectAcknowledged({ acknowledged }: estypes.AcknowledgedResponseBase): void {
  if (!acknowledged) throw new Error('a node of Elasticsearch may not know of a change yet')
}

const isError = (error: unknown, text: string): boolean =>
  error instanceof errors.ResponseError && error.message.includes(text)

/** A handler that ignores an error if an index of this generation is missing: another rebuild has removed it. */
export const unlessRemoved =
  ({ indices }: Pick<Generation, 'indices'>) =>
  (error: unknown): undefined => {
    if (!Object.values(indices).some((name) => isError(error, `no such index [${name}]`))) throw error
  }
