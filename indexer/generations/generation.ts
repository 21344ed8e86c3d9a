import { hash } from 'node:crypto'
import type { estypes } from '@elastic/elasticsearch'
import {
  aliasOf,
  type DocumentKind,
  definitionOf,
  documentKinds,
  type GenerationTag,
  type Indices,
  type PhysicalIndex,
  readPhysicalName,
  type WriteAliases,
  writeAliasesOf,
  writeAliasOf,
} from '../../src/core/elasticsearch/indices.ts'
import type { EntityType } from '../../src/core/model/ids.ts'
import type { CursorKey } from '../../src/core/redis/visiblePositions.ts'

/** One index of each kind, built and served together. All of its indices exist. */
export type Generation = KnownGeneration & {
  /** Whether its mappings are the mappings of this release and configuration. */
  readonly hasCurrentMappings: boolean
  readonly indices: Indices
  readonly writeAliases: WriteAliases
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  /** Whether a rebuild has carried entities over from a log that was replaced, into this generation or one before it. */
  readonly hasCarriedOver: Readonly<Record<EntityType, boolean>>
  readonly shards: number
  readonly createdAtMs: number
  /** Whether the read aliases point to all of its indices, and to no others. */
  readonly isServing: boolean
  /** Whether each of its indices has the write alias of indexers. */
  readonly hasWriteAliases: boolean
  /** Whether it has served at some time, and so had every record below the watermark. If an index was created again since then, this is false. */
  readonly hasServed: boolean
  /** Its settings and mappings that come from templates of the cluster, and with which it would lose documents or parts of them. */
  readonly foreignSettings: readonly string[]
}

/** The indices of a generation. Some may be missing: its creation was interrupted, or they were deleted. */
type FoundIndices = Pick<Generation, 'number' | 'hasCurrentMappings'> & {
  readonly indices: readonly FoundIndex[]
}

/** `complete` is undefined while an index is missing. */
export type FoundGeneration = FoundIndices & { readonly complete: Generation | undefined }

/** A generation named by a committed offset or by Redis. */
export type KnownGeneration = { readonly number: number; readonly tag: GenerationTag }

type FoundIndex = {
  readonly kind: DocumentKind
  readonly version: number
  readonly generation: number
  readonly name: PhysicalIndex
  readonly state: estypes.IndicesIndexState
}

/** What `generationsIn` reads of the state of an index. */
const readOfSettings = ['uuid', 'history.uuid', 'creation_date', 'number_of_shards', 'lifecycle.name']
export const readOfIndices = [
  'aliases',
  'mappings._source',
  'mappings._meta',
  ...readOfSettings.map((name) => `settings.index.${name}`),
]

/** The generations to which these indices belong, lowest number first. Indices that are not named by this prefix are ignored. */
export function generationsIn(
  states: Readonly<Record<string, estypes.IndicesIndexState>>,
  prefix: string,
  hasAnswers: boolean,
): FoundGeneration[] {
  const found = Object.entries(states).flatMap(([name, state]): FoundIndex[] => {
    const read = readPhysicalName(prefix, name)
    return read === undefined ? [] : [{ ...read, name: name as PhysicalIndex, state }]
  })
  const read = found.filter((index) => hasAlias(index, aliasOf(prefix, index.kind)))
  return [...Map.groupBy(found, ({ generation }) => generation)]
    .sort(([a], [b]) => a - b)
    .map(([number, indices]) => {
      const hasCurrentMappings = indices.every(
        ({ kind, version }) => version === definitionOf(kind, hasAnswers).version,
      )
      const named = { number, hasCurrentMappings, indices }
      return { ...named, complete: completeOf(prefix, named, read) }
    })
}

/** The generation of these indices; undefined while an index is missing. `read`: the indices to which the read aliases point. */
function completeOf(
  prefix: string,
  { indices, ...named }: FoundIndices,
  read: readonly FoundIndex[],
): Generation | undefined {
  const found = documentKinds.flatMap((kind) => indices.findLast((index) => index.kind === kind) ?? [])
  if (found.length < documentKinds.length) return undefined
  const settings = found.map(({ state }) => state.settings?.index)
  // Both UUIDs make the tag: a snapshot that is restored over a closed index changes only the history UUID, but may lack documents like a new index.
  const uuids = settings.map((index) => `${index?.uuid ?? ''}${index?.['history']?.uuid ?? ''}`)
  const fingerprint = hash('sha256', uuids.join())
  const byKind = Object.fromEntries(found.map(({ kind, name }) => [kind, name])) as Indices
  return {
    ...named,
    tag: `${named.number}-${fingerprint.slice(0, 16)}` as GenerationTag,
    indices: byKind,
    writeAliases: writeAliasesOf(byKind),
    cursorKeys: { forms: cursorKeyOf(found, 'forms'), submissions: cursorKeyOf(found, 'submissions') },
    hasCarriedOver: { forms: hasCarriedOver(found, 'forms'), submissions: hasCarriedOver(found, 'submissions') },
    shards: settings.reduce((sum, index) => sum + Number(index?.number_of_shards), 0),
    createdAtMs: Math.min(...settings.map((index) => Number(index?.creation_date ?? 0))),
    isServing: read.length === found.length && found.every((index) => read.includes(index)),
    hasWriteAliases: found.every((index) => hasAlias(index, writeAliasOf(index.name))),
    hasServed: found.every((index) => hasAlias(index, servedAlias(prefix, named.number))),
    foreignSettings: found.flatMap(({ name, state }) => foreignSettings(name, state)),
  }
}

const hasCarriedOver = (found: readonly FoundIndex[], type: EntityType): boolean =>
  found.find(({ kind }) => kind === type)?.state.mappings?._meta?.['hasCarriedOver'] === true

/** The cursor key of a list index; empty for an index of an earlier release. Such an index gets no documents of this one, since its mappings refuse them. */
const cursorKeyOf = (found: readonly FoundIndex[], type: EntityType): CursorKey =>
  (found.find(({ kind }) => kind === type)?.state.mappings?._meta?.['cursorKey'] ?? '') as CursorKey

/** The alias that each index of a generation gets in the request by which the generation first serves (`hasServed`). */
export const servedAlias = (prefix: string, number: number): string => `${prefix}-generation-${number}-whole`

const hasAlias = ({ state }: FoundIndex, alias: string): boolean => state.aliases?.[alias] !== undefined

/** Describes the settings and mappings with which an index would lose documents or parts of them: a lifecycle, a `_source` that is disabled or filtered. */
export function foreignSettings(name: string, { settings = {}, mappings = {} }: estypes.IndicesIndexState): string[] {
  const lifecycle = settings.index?.lifecycle?.name
  const { enabled = true, includes = [], excludes = [] } = mappings._source ?? {}
  const isWhole = enabled && includes.length === 0 && excludes.length === 0
  return [
    ...(lifecycle === undefined ? [] : [`${name} has index.lifecycle.name=${lifecycle}`]),
    ...(isWhole ? [] : [`${name} has _source=${JSON.stringify(mappings._source)}`]),
  ]
}

/** Parses the tag of a generation; undefined if the text is no tag. */
export function readTag(tag: string | undefined): KnownGeneration | undefined {
  const [, number] = /^(\d+)-[0-9a-f]{16}$/.exec(tag ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), tag: tag as GenerationTag }
}
