import { createHash } from 'node:crypto'
import { type Client, errors, type estypes } from '@elastic/elasticsearch'
import type { Config } from '../../src/core/process/config.ts'
import {
  aliasOf,
  type DocumentKind,
  documentKinds,
  type GenerationTag,
  type PhysicalIndex,
  physicalName,
  readDefinition,
  readPhysicalName,
  writeAliasOf,
} from '../../src/core/stores/indices.ts'

/** One index of each kind, built together and served together. */
export type Generation = {
  readonly number: number
  readonly tag: GenerationTag
  readonly indices: Readonly<Record<DocumentKind, PhysicalIndex>>
  /** When the first of its indices was created (epoch ms). */
  readonly createdAtMs: number
  /** The read aliases point to all of its indices, and to no others. */
  readonly isServing: boolean
  /** All of its write aliases exist, and none of its indices has a write block. */
  readonly isWritable: boolean
  /** It has served before, so it held everything below the watermark; since then it was written on or retired, never emptied. */
  readonly hasServed: boolean
  /** Its mappings are those of this release. */
  readonly hasCurrentMappings: boolean
  /** What templates of the cluster have added that loses documents, or parts of them. */
  readonly foreignSettings: readonly string[]
}

/** A generation of which indices may be missing: its creation was interrupted, or somebody deleted them. */
export type FoundGeneration = {
  readonly number: number
  readonly indices: ReadonlyMap<DocumentKind, FoundIndex>
  readonly hasCurrentMappings: boolean
  /** Undefined while an index is missing. */
  readonly complete: Generation | undefined
}

type FoundIndex = {
  readonly name: PhysicalIndex
  readonly uuid: string
  readonly aliases: ReadonlySet<string>
  readonly createdAtMs: number
  readonly hasWriteBlock: boolean
  readonly foreignSettings: readonly string[]
}

/** A generation named by a committed offset or by Redis. */
export type KnownGeneration = { readonly number: number; readonly tag: GenerationTag }

export type RequestOptions = { readonly signal: AbortSignal; readonly requestTimeout: number }

const readOfSettings = ['uuid', 'creation_date', 'blocks.write', 'lifecycle.name'].map(
  (name) => `*.settings.index.${name}`,
)
const readOfIndices = ['*.aliases', '*.mappings._source', ...readOfSettings]

/** Finds every generation, lowest number first. */
export async function findGenerations(
  client: Client,
  prefix: string,
  options: RequestOptions,
): Promise<FoundGeneration[]> {
  const found = await client.indices.get(
    {
      index: documentKinds.map((kind) => `${aliasOf(prefix, kind)}-v*`),
      features: ['aliases', 'settings', 'mappings'],
      expand_wildcards: ['open', 'closed'],
      filter_path: readOfIndices.join(),
    },
    options,
  )
  const own = new Map(
    await Promise.all(documentKinds.map(async (kind) => [kind, (await readDefinition(kind)).version] as const)),
  )
  const byNumber = new Map<number, { indices: Map<DocumentKind, FoundIndex>; hasCurrentMappings: boolean }>()
  for (const [name, state] of Object.entries(found)) {
    const read = readPhysicalName(prefix, name)
    if (read === undefined) continue
    const { indices, hasCurrentMappings } = byNumber.get(read.generation) ?? {
      indices: new Map(),
      hasCurrentMappings: true,
    }
    indices.set(read.kind, {
      name: name as PhysicalIndex,
      uuid: String(state.settings?.index?.uuid ?? ''),
      createdAtMs: Number(state.settings?.index?.creation_date ?? 0),
      aliases: new Set(Object.keys(state.aliases ?? {})),
      hasWriteBlock: String(state.settings?.index?.blocks?.write) === 'true',
      foreignSettings: foreignSettings(name, state),
    })
    byNumber.set(read.generation, {
      indices,
      hasCurrentMappings: hasCurrentMappings && read.version === own.get(read.kind),
    })
  }
  const isReadFrom = (kind: DocumentKind, number: number): boolean =>
    [...byNumber].every(
      ([each, { indices }]) => (indices.get(kind)?.aliases.has(aliasOf(prefix, kind)) ?? false) === (each === number),
    )
  return [...byNumber]
    .sort(([a], [b]) => a - b)
    .map(([number, each]) => ({ number, ...each, complete: complete(prefix, number, each, isReadFrom) }))
}

function complete(
  prefix: string,
  number: number,
  { indices, hasCurrentMappings }: Pick<FoundGeneration, 'indices' | 'hasCurrentMappings'>,
  isReadFrom: (kind: DocumentKind, number: number) => boolean,
): Generation | undefined {
  const found = documentKinds.flatMap((kind) => indices.get(kind) ?? [])
  if (found.length < documentKinds.length) return undefined
  const fingerprint = createHash('sha256')
    .update(found.map(({ uuid }) => uuid).join())
    .digest('hex')
  return {
    number,
    tag: `${number}-${fingerprint.slice(0, 16)}` as GenerationTag,
    indices: Object.fromEntries([...indices].map(([kind, { name }]) => [kind, name])) as Generation['indices'],
    createdAtMs: Math.min(...found.map(({ createdAtMs }) => createdAtMs)),
    isServing: documentKinds.every((kind) => isReadFrom(kind, number)),
    isWritable: found.every(({ name, aliases, hasWriteBlock }) => aliases.has(writeAliasOf(name)) && !hasWriteBlock),
    hasServed: found.every(({ aliases }) => aliases.has(servedAlias(prefix, number))),
    hasCurrentMappings,
    foreignSettings: found.flatMap((each) => each.foreignSettings),
  }
}

/** What an index has that we did not ask for and that loses documents, or parts of them: a lifecycle, a `_source` that leaves something out. */
export function foreignSettings(
  name: string,
  { settings = {}, mappings = {} }: Pick<estypes.IndicesIndexState, 'settings' | 'mappings'>,
): string[] {
  const lifecycle = settings.index?.lifecycle?.name
  const { enabled = true, includes = [], excludes = [] } = mappings._source ?? {}
  const isWhole = enabled && includes.length === 0 && excludes.length === 0
  return [
    ...(lifecycle === undefined ? [] : [`${name} has index.lifecycle.name=${lifecycle}`]),
    ...(isWhole ? [] : [`${name} has _source=${JSON.stringify(mappings._source)}`]),
  ]
}

/** Deletes a generation that never served, and throws, if templates have added to it what would lose documents. */
export async function expectOwnSettings(
  client: Client,
  generation: Generation,
  options: RequestOptions,
): Promise<void> {
  const { hasServed, foreignSettings: foreign, indices } = generation
  if (hasServed || foreign.length === 0) return
  await client.indices.delete({ index: Object.values(indices), ignore_unavailable: true }, options)
  throw new Error(`a template of the cluster adds to our indices what loses documents: ${foreign.join(', ')}`)
}

/** Set whatever templates say: documents are stored as they are sent, and read back byte for byte. */
const ownSettings = { default_pipeline: '_none', final_pipeline: '_none', 'mapping.source.mode': 'stored' }

/**
 * Creates the missing indices of a generation, which does not serve yet. Each index has `INDEX_SHARDS` primary shards. Safe to call from
 * several processes at once.
 */
export async function createGeneration(
  client: Client,
  { INDEX_PREFIX: prefix, INDEX_SHARDS: number_of_shards }: Pick<Config, 'INDEX_PREFIX' | 'INDEX_SHARDS'>,
  number: number,
  options: RequestOptions,
): Promise<Generation> {
  await Promise.all(
    documentKinds.map(async (kind) => {
      const { version, settings, mappings } = await readDefinition(kind)
      const index = physicalName(prefix, kind, version, number)
      try {
        await client.indices.create(
          {
            index,
            settings: { ...settings, ...ownSettings, number_of_shards },
            mappings,
            aliases: { [writeAliasOf(index)]: { is_write_index: true } },
          },
          options,
        )
      } catch (error) {
        if (!isAlreadyThere(error)) throw error
      }
    }),
  )
  const generations = await findGenerations(client, prefix, options)
  const created = generations.find((each) => each.number === number)?.complete
  if (created === undefined) throw new Error(`generation ${number} is not complete`)
  await expectOwnSettings(client, created, options)
  return created
}

/** The number of searches, points in time and scrolls that are open on a generation. */
export async function countReaders(
  client: Client,
  { indices }: Pick<Generation, 'indices'>,
  options: RequestOptions,
): Promise<number> {
  const { _all: all } = await client.indices.stats({ index: Object.values(indices), metric: 'search' }, options)
  return all.total?.search?.open_contexts ?? 0
}

/** Deletes the indices of a generation. */
export async function deleteGeneration(
  client: Client,
  { indices }: Pick<FoundGeneration, 'indices'>,
  options: RequestOptions,
): Promise<void> {
  await client.indices.delete(
    { index: [...indices.values()].map(({ name }) => name), ignore_unavailable: true },
    options,
  )
}

/** Parses the tag of a generation; undefined when it is no tag. */
export function readTag(tag: string | undefined): KnownGeneration | undefined {
  const [, number] = /^(\d+)-[0-9a-f]{16}$/.exec(tag ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), tag: tag as GenerationTag }
}

/** Set in the request by which a generation first serves. */
export const servedAlias = (prefix: string, number: number): string => `${prefix}-generation-${number}-whole`

const isAlreadyThere = (error: unknown): boolean =>
  error instanceof errors.ResponseError && error.message.includes('resource_already_exists_exception')
