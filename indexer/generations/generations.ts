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
import { type FoundGeneration, type Generation, generationsIn, readOfIndices, servedAlias } from './generation.ts'

/**
 * Set whatever templates say: documents are stored as they are sent, and read back byte for byte; what is acknowledged is on disk, so that a
 * node that restarts lacks nothing that a commit or a position promises.
 */
const ownSettings = {
  default_pipeline: '_none',
  final_pipeline: '_none',
  'mapping.source.mode': 'stored',
  'translog.durability': 'request',
}

/** What of a configuration names and makes indices. */
type OfIndices = Pick<Config, 'INDEX_PREFIX' | 'INDEX_SHARDS' | 'INDEX_ANSWERS'>

/** The generations of one prefix of indices, and the aliases by which they are read and written. */
export class Generations {
  readonly #client: Client
  readonly #config: OfIndices
  readonly #options: RequestOptions
  /** How long Elasticsearch waits for its master, nodes and shards: it answers before the client gives up, and does nothing later. */
  readonly #waits: { readonly master_timeout: string; readonly timeout: string }

  constructor(client: Client, config: OfIndices, options: RequestOptions) {
    this.#client = client
    this.#config = config
    this.#options = options
    const waitMs = Math.floor((options.requestTimeout ?? defaultRequestTimeoutMs) / 2)
    this.#waits = { master_timeout: `${waitMs}ms`, timeout: `${waitMs}ms` }
  }

  /** Finds every generation, lowest number first. */
  async find(): Promise<FoundGeneration[]> {
    const states = await this.#client.indices.get(
      {
        index: documentKinds.map((kind) => `${aliasOf(this.#config.INDEX_PREFIX, kind)}-v*`),
        features: ['aliases', 'settings', 'mappings'],
        expand_wildcards: ['open', 'closed'],
        filter_path: readOfIndices.map((path) => `*.${path}`).join(),
      },
      this.#options,
    )
    return generationsIn(states, this.#config.INDEX_PREFIX, this.#config.INDEX_ANSWERS)
  }

  /** The generation that the read aliases point to, if it is complete. */
  async serving(): Promise<Generation | undefined> {
    return (await this.find()).find(({ complete }) => complete?.isServing)?.complete
  }

  /** Creates the missing indices of a generation, which does not serve yet. Safe to call from several processes at once. */
  async create(number: number, rebuild?: string): Promise<Generation> {
    await Promise.all(documentKinds.map((kind) => this.#createIndex(kind, number, rebuild)))
    const created = (await this.find()).find((each) => each.number === number)?.complete
    if (created === undefined) throw new Error(`generation ${number} is not complete`)
    await this.expectOwnSettings(created)
    return created
  }

  /**
   * Creates a generation that a rebuild fills, or takes over what another one has left unfinished: that one writes it no more, and cannot make
   * it serve, if it was only frozen. Rejects when it has served, or another rebuild takes it over at the same moment.
   */
  async fill(number: number, rebuild: string): Promise<Generation> {
    const created = await this.create(number, rebuild)
    const { indices } = created
    const index = Object.values(indices)
    const found = await this.#client.indices.getAlias({ index }, this.#options)
    const writersOf = (each: PhysicalIndex): readonly string[] =>
      Object.keys(found[each]?.aliases ?? {}).filter((alias) => alias.startsWith(writeAliasOf(each)))
    const served = servedAlias(this.#config.INDEX_PREFIX, number)
    const others = new Error(`generation ${number} is another rebuild's: run the rebuild again`)
    if (index.some((each) => writersOf(each).length === 0 || found[each]?.aliases[served] !== undefined)) throw others
    const writeAliases = writeAliasesOf(indices, rebuild)
    await this.#updateAliases(
      documentKinds.flatMap((kind): estypes.IndicesUpdateAliasesAction[] => [
        ...writersOf(indices[kind]).map((alias) => ({ remove: { index: indices[kind], alias, must_exist: true } })),
        { add: { index: indices[kind], alias: writeAliases[kind], is_write_index: true } },
      ]),
    ).catch((error: unknown) => {
      throw isError(error, 'aliases_not_found_exception') ? others : error
    })
    // Its writes that have reached a shard end before the block; later ones fail while it stands.
    if (index.some((each) => !writersOf(each).includes(writeAliasOf(each, rebuild))))
      try {
        await this.#blockWrites(index)
      } finally {
        await this.#unblockWrites(index)
      }
    return { ...created, writeAliases }
  }

  async #createIndex(kind: DocumentKind, number: number, rebuild?: string): Promise<void> {
    const { version, settings, mappings } = definitionOf(kind, this.#config.INDEX_ANSWERS)
    const index = physicalName(this.#config.INDEX_PREFIX, kind, version, number)
    const aliases = { [writeAliasOf(index, rebuild)]: { is_write_index: true } }
    const all = { ...settings, ...ownSettings, number_of_shards: this.#config.INDEX_SHARDS }
    const meta = isList(kind) ? { _meta: { cursorKey: newCursorKey() } } : {}
    await this.#client.indices
      .create({ index, settings: all, mappings: { ...mappings, ...meta }, aliases, ...this.#waits }, this.#options)
      .catch((error: unknown) => {
        if (!isError(error, 'resource_already_exists_exception')) throw error
      })
  }

  /** Deletes a generation that never served, and throws, if templates have added to it what would lose documents. */
  async expectOwnSettings({ hasServed, foreignSettings: foreign, indices }: Generation): Promise<void> {
    if (hasServed || foreign.length === 0) return
    await this.#delete(Object.values(indices))
    throw new Error(`a template of the cluster adds to our indices what loses documents: ${foreign.join(', ')}`)
  }

  /** Sets how the cursors of a generation that does not serve yet are sealed, and whether entities were carried over into it. */
  async describe(
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

  /** The number of searches, points in time and scrolls that are open on a generation; none once it is removed, `Infinity` where a node does not tell. */
  async countReaders(generation: Pick<Generation, 'indices'>): Promise<number> {
    const asked = { index: Object.values(generation.indices), metric: 'search' } as const
    const stats = await this.#client.indices.stats(asked, this.#options).catch(unlessRemoved(generation))
    return stats !== undefined && stats._shards.failed > 0 ? Infinity : (stats?._all.total?.search?.open_contexts ?? 0)
  }

  /**
   * Points the read aliases to a generation, in one request, gives it the write aliases of indexers instead of a rebuild's, and removes those of
   * every lower one. With `isSwitch`, changes nothing and rejects with `AliasesMoved` unless the aliases still are where they were found.
   */
  async serve({ number }: Pick<Generation, 'number'>, isSwitch = false): Promise<void> {
    const found = await this.find()
    if (!found.some((each) => each.number === number && each.complete !== undefined))
      throw new Error(`generation ${number} is not complete any more`)
    const moved = found.flatMap((each) =>
      each.indices.flatMap(({ kind, name: index, state: { aliases = {} } }): estypes.IndicesUpdateAliasesAction[] => {
        const read = aliasOf(this.#config.INDEX_PREFIX, kind)
        const write = writeAliasOf(index)
        if (each.number === number) {
          const ofRebuilds = Object.keys(aliases).filter((alias) => alias.startsWith(`${write}-`))
          return [
            ...ofRebuilds.map((alias) => ({ remove: { index, alias, must_exist: true } })),
            { add: { index, alias: write, is_write_index: true } },
            ...[read, servedAlias(this.#config.INDEX_PREFIX, number)].map((alias) => ({ add: { index, alias } })),
          ]
        }
        const retired = [read, ...(each.number < number ? [write] : [])]
        return retired
          .filter((alias) => alias in aliases)
          .map((alias) => ({ remove: { index, alias, must_exist: isSwitch && alias === read } }))
      }),
    )
    await this.#updateAliases(moved).catch((error: unknown) => {
      throw isError(error, 'aliases_not_found_exception') ? new AliasesMoved() : error
    })
  }

  /** Gives back write aliases that somebody has removed. */
  async restoreWriteAliases({ indices }: Pick<Generation, 'indices'>): Promise<void> {
    await this.#updateAliases(
      Object.values(indices).map((index) => ({ add: { index, alias: writeAliasOf(index), is_write_index: true } })),
    )
  }

  /** Resolves once no write is in flight on any shard. */
  async #blockWrites(indices: readonly PhysicalIndex[]): Promise<void> {
    for (const index of indices) {
      // Of an index that is blocked already, only `acknowledged` is true.
      const blocked = await this.#client.indices.addBlock({ index, block: 'write', ...this.#waits }, this.#options)
      if (!blocked.acknowledged) throw new Error(`writes to ${index} may still be under way: run the rebuild again`)
    }
  }

  /** Ends also a block that Elasticsearch is still adding, or could not verify on each shard: the setting alone would leave that one. */
  async #unblockWrites(index: PhysicalIndex[]): Promise<void> {
    const asked = { index, block: 'write', ...this.#waits } as const
    expectAcknowledged(await this.#client.indices.removeBlock(asked, this.#options))
  }

  async #updateAliases(actions: estypes.IndicesUpdateAliasesAction[]): Promise<void> {
    expectAcknowledged(await this.#client.indices.updateAliases({ actions, ...this.#waits }, this.#options))
  }
}

/** An alias is not any more where it was found. */
export class AliasesMoved extends Error {
  override readonly name = 'AliasesMoved'

  constructor() {
    super('aliases have been moved meanwhile')
  }
}

/** Throws unless every node knows of a change; the master may have made it. */
function expectAcknowledged({ acknowledged }: estypes.AcknowledgedResponseBase): void {
  if (!acknowledged) throw new Error('a node of Elasticsearch may not know of a change yet')
}

const isError = (error: unknown, text: string): boolean =>
  error instanceof errors.ResponseError && error.message.includes(text)

/** Throws an error again, unless it says that an index of this generation is missing: another rebuild has removed it meanwhile. */
export const unlessRemoved =
  ({ indices }: Pick<Generation, 'indices'>) =>
  (error: unknown): undefined => {
    if (!Object.values(indices).some((name) => isError(error, `no such index [${name}]`))) throw error
  }
