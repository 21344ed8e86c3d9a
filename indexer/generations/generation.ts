import { hash } from 'node:crypto'
import type { estypes } from '@elastic/elasticsearch'
import {
  aliasOf,
  definitionOf,
  documentKinds,
  type GenerationTag,
  type Indices,
  type PhysicalIndex,
  readPhysicalName,
  writeAliasesOf,
  writeAliasOf,
} from '../../src/core/elasticsearch/indices.ts'
import type { EntityType } from '../../src/core/model/ids.ts'
import type { CursorKey } from '../../src/core/redis/visiblePositions.ts'

/** One index of each kind, built together and served together. */
export type Generation = Readonly<NonNullable<ReturnType<typeof completeOf>>>

/** The indices of a generation. Some may be missing: its creation was interrupted, or somebody deleted them. */
type FoundIndices = {
  readonly number: number
  /** Its mappings are those of this release and configuration. */
  readonly hasCurrentMappings: boolean
  readonly indices: readonly FoundIndex[]
}
/** `complete` is undefined while an index is missing. */
export type FoundGeneration = FoundIndices & { readonly complete: Generation | undefined }

/** A generation named by a committed offset or by Redis. */
export type KnownGeneration = { readonly number: number; readonly tag: GenerationTag }

type FoundIndex = NonNullable<ReturnType<typeof readPhysicalName>> & {
  readonly name: PhysicalIndex
  readonly state: estypes.IndicesIndexState
}

/** The members of the state of an index from which generations are read. */
const readOfSettings = ['uuid', 'history.uuid', 'creation_date', 'number_of_shards', 'lifecycle.name']
export const readOfIndices = [
  'aliases',
  'mappings._source',
  'mappings._meta',
  ...readOfSettings.map((name) => `settings.index.${name}`),
]

/** The generations among these indices of a prefix, lowest number first. */
export function generationsIn(
  states: Readonly<Record<string, estypes.IndicesIndexState>>,
  prefix: string,
  hasAnswers: boolean,
): FoundGeneration[] {
  const found = Object.entries(states).flatMap(([name, state]): FoundIndex[] => {
    const read = readPhysicalName(prefix, name)
    return read === undefined ? [] : [{ ...read, name: name as PhysicalIndex, state }]
  })
  const read = found.filter((each) => hasAlias(each, aliasOf(prefix, each.kind)))
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

/** The generation of these indices; undefined while one is missing. `read`: the indices that read aliases point to. */
function completeOf(prefix: string, { indices, ...named }: FoundIndices, read: readonly FoundIndex[]) {
  const found = documentKinds.flatMap((kind) => indices.findLast((each) => each.kind === kind) ?? [])
  if (found.length < documentKinds.length) return undefined
  const settings = found.map(({ state }) => state.settings?.index)
  // A snapshot that is restored over a closed index leaves its UUID, and gives it another history.
  const uuids = settings.map((each) => `${each?.uuid ?? ''}${each?.['history']?.uuid ?? ''}`)
  const fingerprint = hash('sha256', uuids.join())
  const byKind = Object.fromEntries(found.map(({ kind, name }) => [kind, name])) as Indices
  return {
    ...named,
    tag: `${named.number}-${fingerprint.slice(0, 16)}` as GenerationTag,
    indices: byKind,
    writeAliases: writeAliasesOf(byKind),
    /** By which the cursors of its change feeds are sealed. */
    cursorKeys: { forms: cursorKeyOf(found, 'forms'), submissions: cursorKeyOf(found, 'submissions') },
    /** Whether a rebuild has carried entities over from a log that was replaced, into it or one before it. */
    hasCarriedOver: { forms: hasCarriedOver(found, 'forms'), submissions: hasCarriedOver(found, 'submissions') },
    /** The number of its shards, of all indices. */
    shards: settings.reduce((sum, each) => sum + Number(each?.number_of_shards), 0),
    /** When the first of its indices was created (epoch ms). */
    createdAtMs: Math.min(...settings.map((each) => Number(each?.creation_date ?? 0))),
    /** The read aliases point to all of its indices, and to no others. */
    isServing: read.length === found.length && found.every((each) => read.includes(each)),
    /** Indexers can write to all of its indices. */
    hasWriteAliases: found.every((each) => hasAlias(each, writeAliasOf(each.name))),
    /** It has served, so it held everything below the watermark; since then it was written on or retired, never emptied. */
    hasServed: found.every((each) => hasAlias(each, servedAlias(prefix, named.number))),
    /** What templates of the cluster have added that loses documents, or parts of them. */
    foreignSettings: found.flatMap(({ name, state }) => foreignSettings(name, state)),
  }
}

const hasCarriedOver = (found: readonly FoundIndex[], type: EntityType): boolean =>
  found.find(({ kind }) => kind === type)?.state.mappings?._meta?.['hasCarriedOver'] === true

/** The key of a list index; empty in one of an earlier release, whose mapping refuses what is written now. */
const cursorKeyOf = (found: readonly FoundIndex[], type: EntityType): CursorKey =>
  (found.find(({ kind }) => kind === type)?.state.mappings?._meta?.['cursorKey'] ?? '') as CursorKey

/** Set in the request by which a generation first serves. */
export const servedAlias = (prefix: string, number: number): string => `${prefix}-generation-${number}-whole`

const hasAlias = ({ state }: FoundIndex, alias: string): boolean => state.aliases?.[alias] !== undefined

/** What templates have added to an index that loses documents, or parts of them: a lifecycle, a `_source` that leaves something out. */
export function foreignSettings(name: string, { settings = {}, mappings = {} }: estypes.IndicesIndexState): string[] {
  const lifecycle = settings.index?.lifecycle?.name
  const { enabled = true, includes = [], excludes = [] } = mappings._source ?? {}
  const isWhole = enabled && includes.length === 0 && excludes.length === 0
  return [
    ...(lifecycle === undefined ? [] : [`${name} has index.lifecycle.name=${lifecycle}`]),
    ...(isWhole ? [] : [`${name} has _source=${JSON.stringify(mappings._source)}`]),
  ]
}

/** Parses the tag of a generation; undefined when it is no tag. */
export function readTag(tag: string | undefined): KnownGeneration | undefined {
  const [, number] = /^(\d+)-[0-9a-f]{16}$/.exec(tag ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), tag: tag as GenerationTag }
}
