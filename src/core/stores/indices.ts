import { readFileSync } from 'node:fs'
import type { Branded, EntityType } from '../model/ids.ts'

/** Each entity has two indices: the list index with search keys and the summary, the detail index with the whole answer. */
export const documentKinds = ['forms', 'form-details', 'submissions', 'submission-details'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** The kinds of an entity's documents, that of its list document first. */
export const kindsOf: Readonly<Record<EntityType, readonly [list: DocumentKind, detail: DocumentKind]>> = {
  forms: ['forms', 'form-details'],
  submissions: ['submissions', 'submission-details'],
}

export const entityTypeOf = (kind: DocumentKind): EntityType => (kindsOf.forms.includes(kind) ? 'forms' : 'submissions')

/** Whether documents of this kind are the list documents of their entities, not the detail documents. */
export const isList = (kind: DocumentKind): boolean => kindsOf[entityTypeOf(kind)][0] === kind

/** A name that stands for one physical index. */
type Alias = Branded<string, 'Alias'>
export type PhysicalIndex = Branded<string, 'PhysicalIndex'>

/** The index of each kind of document. */
export type Indices = Readonly<Record<DocumentKind, PhysicalIndex>>

/** `<number>-<fingerprint>`: identifies the four indices of a generation, also from earlier indices of the same names. */
export type GenerationTag = Branded<string, 'GenerationTag'>

export type IndexDefinition = {
  readonly version: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mappings: Readonly<Record<string, unknown>>
}

/** The alias that readers use; it points to the generation that serves. */
export const aliasOf = (prefix: string, kind: DocumentKind): Alias => `${prefix}-${kind}` as Alias

/**
 * The alias that writers of a generation use. A write to a missing index would create one without our mapping; a write that
 * requires an alias (`require_alias`) fails instead, also after the generation was retired and its alias removed.
 */
export const writeAliasOf = (index: PhysicalIndex): Alias => `${index}-write` as Alias

/** The physical index of a kind in one generation: `<prefix>-<kind>-v<mapping version>-<generation>`. */
export const physicalName = (prefix: string, kind: DocumentKind, version: number, generation: number): PhysicalIndex =>
  `${prefix}-${kind}-v${version}-${generation}` as PhysicalIndex

/** Parses the name of a physical index; undefined for an index of another prefix, which has no character of a pattern. */
export function readPhysicalName(prefix: string, name: string) {
  const pattern = new RegExp(`^${prefix}-(${documentKinds.join('|')})-v(\\d+)-(\\d+)$`)
  const [, kind, version, generation] = pattern.exec(name) ?? []
  if (kind === undefined) return undefined
  return { kind: kind as DocumentKind, version: Number(version), generation: Number(generation) }
}

const read = (kind: DocumentKind): string =>
  readFileSync(new URL(`../../../mappings/${kind}.json`, import.meta.url), 'utf8')

/** What is in `mappings/<kind>.json`. */
export const definitions = Object.fromEntries(documentKinds.map((kind) => [kind, JSON.parse(read(kind))])) as Readonly<
  Record<DocumentKind, IndexDefinition>
>
