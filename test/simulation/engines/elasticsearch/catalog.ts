import { Mapping } from './mapping.ts'
import { aliasesNotFound, expectOnly, indexNotFound, notSimulated, Refusal } from './refusal.ts'
import { type Node, Shard } from './shard.ts'

type Json = Readonly<Record<string, unknown>>
type AliasOptions = { readonly is_write_index?: boolean }

/** An index with its settings. */
export class Index {
  readonly name: string
  readonly uuid: string
  readonly createdAtMs: number
  readonly mapping: Mapping
  readonly shards: readonly Shard[]
  hasWriteBlock = false
  /** The `_meta` of its mapping. */
  meta: unknown
  aliases: ReadonlyMap<string, AliasOptions>

  constructor(
    name: string,
    { uuid, createdAtMs }: Pick<Index, 'uuid' | 'createdAtMs'>,
    { settings = {}, mappings = {}, aliases = {} }: CreateBody,
    nodes: readonly Node[],
  ) {
    this.name = name
    this.uuid = uuid
    this.createdAtMs = createdAtMs
    const { refresh_interval: interval, number_of_shards: shards = 1 } = settings
    if (interval !== '-1') throw notSimulated(`a refresh_interval of ${String(interval)}`)
    this.mapping = new Mapping(mappings)
    this.meta = mappings['_meta']
    this.shards = Array.from({ length: Number(shards) }, (_, number) => new Shard(number, nodes))
    this.aliases = new Map(Object.entries(aliases))
  }

  /** The shard that a routing value selects. */
  shardOf(routing: string): Shard {
    const shard = this.shards[hashOf(routing) % this.shards.length]
    if (shard === undefined) throw new Error('an index has a shard')
    return shard
  }
}

type CreateBody = {
  readonly settings?: Json
  readonly mappings?: Json
  readonly aliases?: Record<string, AliasOptions>
}

type AliasAction = {
  readonly add?: { readonly index: string; readonly alias: string } & AliasOptions
  readonly remove?: { readonly index: string; readonly alias: string; readonly must_exist?: boolean }
}

/** The indices and aliases of a cluster. */
export class Catalog {
  readonly #indices = new Map<string, Index>()
  readonly #nodes: readonly Node[]
  readonly #newUuid: () => string
  readonly #clock: () => number

  constructor(nodes: readonly Node[], newUuid: () => string, clock: () => number) {
    this.#nodes = nodes
    this.#newUuid = newUuid
    this.#clock = clock
  }

  all(): readonly Index[] {
    return [...this.#indices.values()]
  }

  /** Whether this index exists, not a later one of its name. */
  has(index: Index): boolean {
    return this.#indices.get(index.name) === index
  }

  /** Resolves names, aliases and `*` patterns to indices, sorted by name. Throws for unknown names, unless `ignoreUnavailable`. */
  find(names: readonly string[], ignoreUnavailable = false): readonly Index[] {
    const matches = new Map<string, Index>()
    for (const name of names) {
      const named = this.all().filter((index) => isNamed(index, name))
      if (named.length === 0 && !name.includes('*') && !ignoreUnavailable) throw indexNotFound(name)
      for (const index of named) matches.set(index.name, index)
    }
    return [...matches.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The index that an alias writes to. */
  writeIndexOf(alias: string): Index {
    const aliased = this.all().filter(({ aliases }) => aliases.has(alias))
    const [only, ...others] = aliased
    if (only === undefined) throw aliasRequired(alias)
    if (others.length > 0) throw notSimulated('writes to several indices')
    return only
  }

  create(name: string, body: CreateBody): void {
    expectOnly(['settings', 'mappings', 'aliases'], body, 'the creation of an index')
    const known = this.#indices.get(name)
    if (known !== undefined)
      throw new Refusal(400, {
        type: 'resource_already_exists_exception',
        reason: `index [${name}/${known.uuid}] already exists`,
        index_uuid: known.uuid,
        index: name,
      })
    this.#indices.set(name, new Index(name, { uuid: this.#newUuid(), createdAtMs: this.#clock() }, body, this.#nodes))
  }

  delete(indices: readonly Index[]): void {
    for (const { name } of indices) this.#indices.delete(name)
  }

  /** Applies all actions in order, or none. Tolerates missing aliases to remove, unless `must_exist`, or if nothing else is to do. */
  updateAliases(actions: readonly AliasAction[]): object {
    const drafts = new Map<Index, Map<string, AliasOptions>>()
    const draftOf = (name: string): Map<string, AliasOptions> => {
      const index = this.#indices.get(name)
      if (index === undefined) throw indexNotFound(name)
      const draft = drafts.get(index) ?? new Map(index.aliases)
      drafts.set(index, draft)
      return draft
    }
    const missing: string[] = []
    for (const { add, remove, ...others } of actions) {
      expectOnly([], others, 'the aliases')
      if (add !== undefined) {
        const { index, alias, ...options } = add
        draftOf(index).set(alias, options)
      }
      if (remove === undefined || draftOf(remove.index).delete(remove.alias)) continue
      if (remove.must_exist === true) throw aliasesNotFound(remove.alias)
      missing.push(remove.alias)
    }
    const [first] = missing
    if (first !== undefined && missing.length === actions.length) throw aliasesNotFound(first)
    for (const [index, draft] of drafts) index.aliases = draft
    return { acknowledged: true, errors: missing.length > 0 }
  }
}

function isNamed({ name, aliases }: Index, pattern: string): boolean {
  if (!pattern.includes('*')) return name === pattern || aliases.has(pattern)
  const matches = matcherOf(pattern)
  return matches(name) || [...aliases.keys()].some(matches)
}

/** Compiles a pattern in which `*` matches any text. */
function matcherOf(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.?+^$(){}|[\]\\]/g, '\\$&'))
  const expression = new RegExp(`^${parts.join('.*')}$`)
  return (text) => expression.test(text)
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

const aliasRequired = (name: string): Refusal =>
  new Refusal(404, {
    type: 'index_not_found_exception',
    reason: `no such index [${name}] and [require_alias] request flag is [true] and [${name}] is not an alias`,
    index_uuid: '_na_',
    index: name,
  })
