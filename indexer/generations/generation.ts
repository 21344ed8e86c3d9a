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

/** Four indices, one of each kind, that are built and serve together. All four exist. */
export type Generation = GenerationId & {
  /** Those of this release and configuration. */
  readonly hasCurrentMappings: boolean
  readonly indices: Indices
  readonly writeAliases: WriteAliases
  /** They seal the cursors of the change feeds. */
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  /** Whether it may have entities that a rebuild copied from the generation before, since their topic was replaced by one that lacks them. */
  readonly hasCarriedOver: Readonly<Record<EntityType, boolean>>
  /** The primary shards of all four indices. */
  readonly shards: number
  readonly createdAtMs: number
  /** Whether the read aliases point to all of its indices, and to no others. */
  readonly isServing: boolean
  readonly hasWriteAliases: boolean
  /** Whether it has ever served, and so had every record below the watermark. False if an index was created again since. */
  readonly hasServed: boolean
  /** From templates of the cluster: with them, the generation would lose documents or parts of them. */
  readonly foreignSettings: readonly string[]
}

/** Some indices may be missing: their creation was interrupted, or they were deleted. */
type FoundIndices = Pick<Generation, 'number' | 'hasCurrentMappings'> & {
  readonly indices: readonly FoundIndex[]
}

export type FoundGeneration = FoundIndices & { readonly complete: Generation | undefined }

/** `tag`, as `4-0123456789abcdef`: number and a hash, which changes if an index is created again or restored. */
export type GenerationId = { readonly number: number; readonly tag: GenerationTag }

type FoundIndex = {
  readonly kind: DocumentKind
  readonly version: number
  readonly generation: number
  readonly name: PhysicalIndex
  readonly state: estypes.IndicesIndexState
}

const requestedSettings = ['uuid', 'history.uuid', 'creation_date', 'number_of_shards', 'lifecycle.name']
export const requestedFields = [
  'aliases',
  'mappings._source',
  'mappings._meta',
  ...requestedSettings.map((name) => `settings.index.${name}`),
]

/** Lowest number first. Ignores indices with other names. `hasAnswers`: the setting `INDEX_ANSWERS`. */
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

/** Undefined if an index is missing. `aliased`: the indices of all generations to which the read aliases point. */
function completeOf(
  prefix: string,
  { indices, ...found }: FoundIndices,
  aliased: readonly FoundIndex[],
): Generation | undefined {
  const latest = documentKinds.flatMap((kind) => indices.findLast((index) => index.kind === kind) ?? [])
  if (latest.length < documentKinds.length) return undefined
  const settings = latest.map(({ state }) => state.settings?.index)
  // A snapshot that is restored over a closed index may lack documents, and changes only the history UUID.
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

/** Stored by `storeMeta` (generations.ts). */
const hasCarriedOver = (indices: readonly FoundIndex[], type: EntityType): boolean =>
  indices.find(({ kind }) => kind === type)?.state.mappings?._meta?.['hasCarriedOver'] === true

/** Empty for an index of an earlier release, whose mappings refuse documents of this release. */
const cursorKeyOf = (indices: readonly FoundIndex[], type: EntityType): CursorKey =>
  (indices.find(({ kind }) => kind === type)?.state.mappings?._meta?.['cursorKey'] ?? '') as CursorKey

/** Each index gets this alias when its generation first serves. */
export const servedAlias = (prefix: string, number: number): string => `${prefix}-generation-${number}-whole`

const hasAlias = ({ state }: FoundIndex, alias: string): boolean => state.aliases?.[alias] !== undefined

export function foreignSettings(name: string, { settings = {}, mappings = {} }: estypes.IndicesIndexState): string[] {
  const lifecycle = settings.index?.lifecycle?.name
  const { enabled = true, includes = [], excludes = [] } = mappings._source ?? {}
  const isWhole = enabled && includes.length === 0 && excludes.length === 0
  return [
    ...(lifecycle === undefined ? [] : [`${name} has index.lifecycle.name=${lifecycle}`]),
    ...(isWhole ? [] : [`${name} has _source=${JSON.stringify(mappings._source)}`]),
  ]
}

/** Undefined if the text is no tag. */
export function readTag(tag: string | undefined): GenerationId | undefined {
  const [, number] = /^(\d+)-[0-9a-f]{16}$/.exec(tag ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), tag: tag as GenerationTag }
}
