import { readFileSync } from 'node:fs'
import type { estypes } from '@elastic/elasticsearch'
import type { Branded, EntityType } from '../model/ids.ts'

/** One index per kind of document: list documents (search keys and summary), detail documents (the answer to a request by id). */
export const documentKinds = ['forms', 'form-details', 'submissions', 'submission-details'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** The kinds of an entity type's list and detail documents. */
export const kindsOf: Readonly<Record<EntityType, readonly [list: DocumentKind, detail: DocumentKind]>> = {
  forms: ['forms', 'form-details'],
  submissions: ['submissions', 'submission-details'],
}

export const entityTypeOf = (kind: DocumentKind): EntityType => (kindsOf.forms.includes(kind) ? 'forms' : 'submissions')

/** Whether documents of this kind are list documents, not detail documents. */
export const isList = (kind: DocumentKind): boolean => kindsOf[entityTypeOf(kind)][0] === kind

type Alias = Branded<string, 'Alias'>
export type PhysicalIndex = Branded<string, 'PhysicalIndex'>

/** The physical index of each kind of document, in one generation. */
export type Indices = Readonly<Record<DocumentKind, PhysicalIndex>>

/** The names of the physical indices of one list: of its list documents and of its details. */
export type ListIndices = { readonly index: string; readonly details: string }

/** `<number>-<fingerprint>` of a generation. The fingerprint distinguishes its indices from earlier ones of the same names. */
export type GenerationTag = Branded<string, 'GenerationTag'>

export type IndexDefinition = {
  readonly version: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mappings: estypes.MappingTypeMapping
}

/** The alias for readers: it points to the generation that serves. */
export const aliasOf = (prefix: string, kind: DocumentKind): Alias => `${prefix}-${kind}` as Alias

/**
 * The alias for writers of an index: for indexers, or for the one `rebuild` that fills it before it serves. A write to a missing index would
 * create an index without our mapping; with `require_alias` it fails, also once the alias was removed: the generation was retired, or another
 * rebuild fills it.
 */
export const writeAliasOf = (index: PhysicalIndex, rebuild?: string): Alias =>
  `${index}-write${rebuild === undefined ? '' : `-${rebuild}`}` as Alias

/** The alias for writers of each kind. */
export type WriteAliases = Readonly<Record<DocumentKind, Alias>>

export const writeAliasesOf = (indices: Indices, rebuild?: string): WriteAliases =>
  Object.fromEntries(documentKinds.map((kind) => [kind, writeAliasOf(indices[kind], rebuild)])) as WriteAliases

/** The physical index of a kind in one generation: `<prefix>-<kind>-v<mapping version>-<generation>`. */
export const physicalName = (prefix: string, kind: DocumentKind, version: number, generation: number): PhysicalIndex =>
  `${prefix}-${kind}-v${version}-${generation}` as PhysicalIndex

/** Parses the name of a physical index; undefined for other names. `prefix` contains no regex characters. */
export function readPhysicalName(prefix: string, name: string) {
  const pattern = new RegExp(`^${prefix}-(${documentKinds.join('|')})-v(\\d+(?:\\.5)?)-(\\d+)$`)
  const [, kind, version, generation] = pattern.exec(name) ?? []
  if (kind === undefined) return undefined
  return { kind: kind as DocumentKind, version: Number(version), generation: Number(generation) }
}

/** Whether the name of a physical index says that its mapping is older than ours, so that it may lack fields. */
export function hasOlderMapping(prefix: string, index: string, hasAnswers: boolean): boolean {
  const found = readPhysicalName(prefix, index)
  return found !== undefined && found.version < definitionOf(found.kind, hasAnswers).version
}

const read = (kind: DocumentKind): string =>
  readFileSync(new URL(`../../../mappings/${kind}.json`, import.meta.url), 'utf8')

/** Kind → parsed `mappings/<kind>.json`. */
const definitions = Object.fromEntries(documentKinds.map((kind) => [kind, JSON.parse(read(kind))])) as Readonly<
  Record<DocumentKind, IndexDefinition>
>

/** Half a version lower, so that it is older than the same with answers. */
const submissionsWithoutAnswers = withoutAnswers(definitions.submissions)

function withoutAnswers({ version, settings, mappings }: IndexDefinition): IndexDefinition {
  const properties = { ...mappings.properties, answers: { type: 'object', enabled: false } as const }
  return { version: version - 0.5, settings, mappings: { ...mappings, properties } }
}

/** What an index of a kind is created with. */
export const definitionOf = (kind: DocumentKind, hasAnswers: boolean): IndexDefinition =>
  hasAnswers || kind !== 'submissions' ? definitions[kind] : submissionsWithoutAnswers
