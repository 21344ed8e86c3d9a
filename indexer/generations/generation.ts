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

/** Four indices, one of each kind, that are built together and serve together. All four exist. */
export type Generation = GenerationId & {
  /** Whether its mappings are those of this release and configuration. */
  readonly hasCurrentMappings: boolean
  readonly indices: Indices
  readonly writeAliases: WriteAliases
  /** The keys that seal the cursors of the change feeds. A cursor that another key has sealed is refused. */
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  /** Whether it may have entities that a rebuild carried over: copied from the generation before, since their topic was replaced by one that lacks them. */
  readonly hasCarriedOver: Readonly<Record<EntityType, boolean>>
  /** The number of primary shards of its four indices together. */
  readonly shards: number
  readonly createdAtMs: number
  /** Whether the read aliases point to all of its indices, and to no others. */
  readonly isServing: boolean
  readonly hasWriteAliases: boolean
  /** Whether it has ever served, and so had every record from before the watermark. False if one of its indices was created again since. */
  readonly hasServed: boolean
  /** Settings and mappings, from templates of the cluster, with which it would lose documents or parts of them. */
  readonly foreignSettings: readonly string[]
}

/** The indices of a generation that exist. Some may be missing: the creation of the generation was interrupted, or they were deleted. */
type FoundIndices = Pick<Generation, 'number' | 'hasCurrentMappings'> & {
  readonly indices: readonly FoundIndex[]
}

/** `complete` is undefined while an index is missing. */
export type FoundGeneration = FoundIndices & { readonly complete: Generation | undefined }

/** How commits and Redis identify a generation. `tag`, as `4-0123456789abcdef`: number and a hash, which changes if an index is created again or restored. */
export type GenerationId = { readonly number: number; readonly tag: GenerationTag }

type FoundIndex = {
  readonly kind: DocumentKind
  readonly version: number
  readonly generation: number
  readonly name: PhysicalIndex
  readonly state: estypes.IndicesIndexState
}

/** The settings and other fields of an index that a generation is made from. */
const requestedSettings = ['uuid', 'history.uuid', 'creation_date', 'number_of_shards', 'lifecycle.name']
export const requestedFields = [
  'aliases',
  'mappings._source',
  'mappings._meta',
  ...requestedSettings.map((name) => `settings.index.${name}`),
]

/** The generations of these indices (name → state), lowest number first. Ignores indices with other names. `hasAnswers`: the setting `INDEX_ANSWERS`. */
export function generationsIn(
  states: Readonly<Record<string, estypes.IndicesIndexState>>,
  prefix: string,
  hasAnswers: boolean,
): FoundGeneration[] {
  const ownIndices = Object.entries(states).flatMap(([name, state]): FoundIndex[] => {
    const parsed = readPhysicalName(prefix, name)
    return parsed === undefined ? [] : [{ ...parsed, name: name as PhysicalIndex, state }]
  })
  const aliased = ownIndices.filter((index) => hasAlias(index, aliasOf(prefix, index.kind)))
  return [...Map.groupBy(ownIndices, ({ generation }) => generation)]
    .sort(([a], [b]) => a - b)
    .map(([number, indices]) => {
      const hasCurrentMappings = indices.every(
        ({ kind, version }) => version === definitionOf(kind, hasAnswers).version,
      )
      const found = { number, hasCurrentMappings, indices }
      return { ...found, complete: completeOf(prefix, found, aliased) }
    })
}

/** The generation of these indices; undefined if an index is missing. `aliased`: the indices of all generations to which the read aliases point. */
function completeOf(
  prefix: string,
  { indices, ...found }: FoundIndices,
  aliased: readonly FoundIndex[],
): Generation | undefined {
  const latest = documentKinds.flatMap((kind) => indices.findLast((index) => index.kind === kind) ?? [])
  if (latest.length < documentKinds.length) return undefined
  const settings = latest.map(({ state }) => state.settings?.index)
  // Both UUIDs make the tag: a snapshot that is restored over a closed index, and may lack documents, changes only the history UUID.
  const uuids = settings.map((index) => `${index?.uuid ?? ''}${index?.['history']?.uuid ?? ''}`)
  const fingerprint = hash('sha256', uuids.join())
  const byKind = Object.fromEntries(latest.map(({ kind, name }) => [kind, name])) as Indices
  return {
    ...found,
    tag: `${found.number}-${fingerprint.slice(0, 16)}` as GenerationTag,
    indices: byKind,
    writeAliases: writeAliasesOf(byKind),
    cursorKeys: { forms: cursorKeyOf(latest, 'forms'), submissions: cursorKeyOf(latest, 'submissions') },
    hasCarriedOver: { forms: hasCarriedOver(latest, 'forms'), submissions: hasCarriedOver(latest, 'submissions') },
    shards: settings.reduce((sum, index) => sum + Number(index?.number_of_shards), 0),
    createdAtMs: Math.min(...settings.map((index) => Number(index?.creation_date ?? 0))),
    isServing: aliased.length === latest.length && latest.every((index) => aliased.includes(index)),
    hasWriteAliases: latest.every((index) => hasAlias(index, writeAliasOf(index.name))),
    hasServed: latest.every((index) => hasAlias(index, servedAlias(prefix, found.number))),
    foreignSettings: latest.flatMap(({ name, state }) => foreignSettings(name, state)),
  }
}

/** Reads what `storeMeta` (generations.ts) has stored in the mappings of a list index. */
const hasCarriedOver = (indices: readonly FoundIndex[], type: EntityType): boolean =>
  indices.find(({ kind }) => kind === type)?.state.mappings?._meta?.['hasCarriedOver'] === true

/** The cursor key of a list index; empty for an index of an earlier release, whose mappings refuse documents of this release. */
const cursorKeyOf = (indices: readonly FoundIndex[], type: EntityType): CursorKey =>
  (indices.find(({ kind }) => kind === type)?.state.mappings?._meta?.['cursorKey'] ?? '') as CursorKey

/** Each index of a generation gets this alias when the generation first serves (`hasServed`). */
export const servedAlias = (prefix: string, number: number): string => `${prefix}-generation-${number}-whole`

const hasAlias = ({ state }: FoundIndex, alias: string): boolean => state.aliases?.[alias] !== undefined

/** Describes a lifecycle, and a disabled or filtered `_source`: with these, an index would lose documents or parts of them. */
export function foreignSettings(name: string, { settings = {}, mappings = {} }: estypes.IndicesIndexState): string[] {
  const lifecycle = settings.index?.lifecycle?.name
  const { enabled = true, includes = [], excludes = [] } = mappings._source ?? {}
  const isWhole = enabled && includes.length === 0 && excludes.length === 0
  return [
    ...(lifecycle === undefined ? [] : [`${name} has index.lifecycle.name=${lifecycle}`]),
    ...(isWhole ? [] : [`${name} has _source=${JSON.stringify(mappings._source)}`]),
  ]
}

/** Reads a tag such as `4-0123456789abcdef`; undefined if the text is no tag. */
export function readTag(tag: string | undefined): GenerationId | undefined {
  const [, number] = /^(\d+)-[0-9a-f]{16}$/.exec(tag ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), tag: tag as GenerationTag }
}
