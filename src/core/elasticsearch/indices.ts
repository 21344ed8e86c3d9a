import { readFileSync } from 'node:fs'
import type { estypes } from '@elastic/elasticsearch'
import type { Branded, EntityType } from '../model/ids.ts'

/** One index for each kind. */
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

/** `<number>-<fingerprint>`. The fingerprint distinguishes a generation's indices from earlier ones of the same names. */
export type GenerationTag = Branded<string, 'GenerationTag'>

export type IndexDefinition = {
  readonly version: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mappings: estypes.MappingTypeMapping
}

/** For readers; points to the serving generation. */
export const aliasOf = (prefix: string, kind: DocumentKind): Alias => `${prefix}-${kind}` as Alias

/**
 * The alias for writers: indexers, or the rebuild that fills the index (`rebuild`: its id). With `require_alias`, a write to a missing index does not create it
 * without our mapping. Once the alias is removed, writes fail: those of indexers of a retired generation, or of a rebuild whose generation another rebuild has
 * taken over.
 */
export const writeAliasOf = (index: PhysicalIndex, rebuild?: string): Alias =>
  `${index}-write${rebuild === undefined ? '' : `-${rebuild}`}` as Alias

export type WriteAliases = Readonly<Record<DocumentKind, Alias>>

export const writeAliasesOf = (indices: Indices, rebuild?: string): WriteAliases =>
  Object.fromEntries(documentKinds.map((kind) => [kind, writeAliasOf(indices[kind], rebuild)])) as WriteAliases

export const physicalName = (prefix: string, kind: DocumentKind, version: number, generation: number): PhysicalIndex =>
  `${prefix}-${kind}-v${version}-${generation}` as PhysicalIndex

export type PhysicalName = { readonly kind: DocumentKind; readonly version: number; readonly generation: number }

/** Undefined for names of others. `prefix` contains no regex characters. */
export function readPhysicalName(prefix: string, name: string): PhysicalName | undefined {
  // Such as `tidemark-forms-v12-3`, or with half a version `tidemark-submissions-v11.5-3`.
  const pattern = new RegExp(`^${prefix}-(${documentKinds.join('|')})-v(\\d+(?:\\.5)?)-(\\d+)$`)
  const [, kind, version, generation] = pattern.exec(name) ?? []
  if (kind === undefined) return undefined
  return { kind: kind as DocumentKind, version: Number(version), generation: Number(generation) }
}

/** An older mapping may lack fields. */
export function hasOlderMapping(prefix: string, index: string, hasAnswers: boolean): boolean {
  const name = readPhysicalName(prefix, index)
  return name !== undefined && name.version < definitionOf(name.kind, hasAnswers).version
}

const readDefinition = (kind: DocumentKind): string =>
  readFileSync(new URL(`../../../mappings/${kind}.json`, import.meta.url), 'utf8')

const definitions = Object.fromEntries(
  documentKinds.map((kind) => [kind, JSON.parse(readDefinition(kind))]),
) as Readonly<Record<DocumentKind, IndexDefinition>>

/** Without indexed answers. The version is lower by half: once answers are to be indexed, this index counts as older (`hasOlderMapping`). */
const submissionsWithoutAnswers = withoutAnswers(definitions.submissions)

function withoutAnswers({ version, settings, mappings }: IndexDefinition): IndexDefinition {
  const properties = { ...mappings.properties, answers: { type: 'object', enabled: false } as const }
  return { version: version - 0.5, settings, mappings: { ...mappings, properties } }
}

export const definitionOf = (kind: DocumentKind, hasAnswers: boolean): IndexDefinition =>
  hasAnswers || kind !== 'submissions' ? definitions[kind] : submissionsWithoutAnswers
