import { readFileSync } from 'node:fs'
import type { estypes } from '@elastic/elasticsearch'
import type { Branded, EntityType } from '../model/ids.ts'

/** One index per kind of document: list documents (search keys and summary), detail documents (the answer to a request by id). */
export const documentKinds = ['forms', 'form-details', 'submissions', 'submission-details'] as const
export type DocumentKind = (typeof documentKinds)[number]

export const kindsOf: Readonly<Record<EntityType, readonly [list: DocumentKind, detail: DocumentKind]>> = {
  forms: ['forms', 'form-details'],
  submissions: ['submissions', 'submission-details'],
}

export const entityTypeOf = (kind: DocumentKind): EntityType => (kindsOf.forms.includes(kind) ? 'forms' : 'submissions')

export const isList = (kind: DocumentKind): boolean => kindsOf[entityTypeOf(kind)][0] === kind

type Alias = Branded<string, 'Alias'>
export type PhysicalIndex = Branded<string, 'PhysicalIndex'>

export type Indices = Readonly<Record<DocumentKind, PhysicalIndex>>

export type ListIndices = { readonly index: string; readonly details: string }

/**
 * `<number>-<fingerprint>` of a generation, the four indices that are built and serve together. The fingerprint distinguishes its indices from earlier indices
 * of the same names.
 */
export type GenerationTag = Branded<string, 'GenerationTag'>

/** The content of a file in the folder `mappings`. */
export type IndexDefinition = {
  readonly version: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mappings: estypes.MappingTypeMapping
}

/** The alias for readers, which points to the serving generation. */
export const aliasOf = (prefix: string, kind: DocumentKind): Alias => `${prefix}-${kind}` as Alias

/**
 * The alias for writers of an index: indexers, or the rebuild that fills the index before it serves (`rebuild`: its id). Writers use the alias with
 * `require_alias`: otherwise a write to a missing index would create it, without our mapping. Once the alias is removed, their writes fail: those of indexers
 * of a retired generation, or of a rebuild whose generation another rebuild has taken over.
 */
export const writeAliasOf = (index: PhysicalIndex, rebuild?: string): Alias =>
  `${index}-write${rebuild === undefined ? '' : `-${rebuild}`}` as Alias

export type WriteAliases = Readonly<Record<DocumentKind, Alias>>

export const writeAliasesOf = (indices: Indices, rebuild?: string): WriteAliases =>
  Object.fromEntries(documentKinds.map((kind) => [kind, writeAliasOf(indices[kind], rebuild)])) as WriteAliases

/** `version`: of the mapping. `generation`: its number. */
export const physicalName = (prefix: string, kind: DocumentKind, version: number, generation: number): PhysicalIndex =>
  `${prefix}-${kind}-v${version}-${generation}` as PhysicalIndex

/** The parts of the name of an index. `version`: of the mapping. */
export type PhysicalName = { readonly kind: DocumentKind; readonly version: number; readonly generation: number }

/** Parses the name of an index of Tidemark; undefined for other names. `prefix` contains no regex characters. */
export function readPhysicalName(prefix: string, name: string): PhysicalName | undefined {
  // Such as `tidemark-forms-v12-3`, or with half a version `tidemark-submissions-v11.5-3`.
  const pattern = new RegExp(`^${prefix}-(${documentKinds.join('|')})-v(\\d+(?:\\.5)?)-(\\d+)$`)
  const [, kind, version, generation] = pattern.exec(name) ?? []
  if (kind === undefined) return undefined
  return { kind: kind as DocumentKind, version: Number(version), generation: Number(generation) }
}

/** Whether the version in the name of an index is older than that of its present definition: its mapping may lack fields. */
export function hasOlderMapping(prefix: string, index: string, hasAnswers: boolean): boolean {
  const name = readPhysicalName(prefix, index)
  return name !== undefined && name.version < definitionOf(name.kind, hasAnswers).version
}

const readDefinition = (kind: DocumentKind): string =>
  readFileSync(new URL(`../../../mappings/${kind}.json`, import.meta.url), 'utf8')

const definitions = Object.fromEntries(
  documentKinds.map((kind) => [kind, JSON.parse(readDefinition(kind))]),
) as Readonly<Record<DocumentKind, IndexDefinition>>

/**
 * For installations that do not index the answers in submissions. The version is lower by half: once answers are to be indexed, an index without them counts as
 * older (`hasOlderMapping`).
 */
const submissionsWithoutAnswers = withoutAnswers(definitions.submissions)

function withoutAnswers({ version, settings, mappings }: IndexDefinition): IndexDefinition {
  const properties = { ...mappings.properties, answers: { type: 'object', enabled: false } as const }
  return { version: version - 0.5, settings, mappings: { ...mappings, properties } }
}

/** `hasAnswers`: whether answers are indexed. */
export const definitionOf = (kind: DocumentKind, hasAnswers: boolean): IndexDefinition =>
  hasAnswers || kind !== 'submissions' ? definitions[kind] : submissionsWithoutAnswers
