import { readFile } from 'node:fs/promises'
import type { Branded } from '../model/ids.ts'

/** Two indices an entity: the list index carries search keys and the summary, the detail index the single answer. */
export const documentKinds = ['forms', 'form-details', 'submissions', 'submission-details'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** A name that stands for one physical index. */
export type Alias = Branded<string, 'Alias'>
export type PhysicalIndex = Branded<string, 'PhysicalIndex'>

/** `<number>-<fingerprint>`: names the four indices of one generation themselves, so that others of the same names differ. */
export type GenerationTag = Branded<string, 'GenerationTag'>

export type IndexDefinition = {
  readonly version: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mappings: Readonly<Record<string, unknown>>
}

/** The alias that readers use: it points at the generation that serves. */
export const aliasOf = (prefix: string, kind: DocumentKind): Alias => `${prefix}-${kind}` as Alias

/**
 * The alias that writers of one generation use. A write to a missing index would create one without our mapping; a write that
 * requires an alias fails instead, also once the generation is retired and the alias taken away.
 */
export const writeAliasOf = (index: PhysicalIndex): Alias => `${index}-write` as Alias

/** The physical index of a kind in one generation: `<prefix>-<kind>-v<mapping version>-<generation>`. */
export const physicalName = (prefix: string, kind: DocumentKind, version: number, generation: number): PhysicalIndex =>
  `${prefix}-${kind}-v${version}-${generation}` as PhysicalIndex

/** What a physical index's name says; undefined for an index that is not of this prefix. */
export function readPhysicalName(
  prefix: string,
  name: string,
): { readonly kind: DocumentKind; readonly version: number; readonly generation: number } | undefined {
  for (const kind of documentKinds) {
    const [, version, generation] =
      (name.startsWith(`${prefix}-${kind}-v`) && /^v(\d+)-(\d+)$/.exec(name.slice(prefix.length + kind.length + 2))) ||
      []
    if (version !== undefined && generation !== undefined)
      return { kind, version: Number(version), generation: Number(generation) }
  }
  return undefined
}

const definitions = new Map<DocumentKind, Promise<IndexDefinition>>()

/** What `mappings/<kind>.json` says; read once. */
export function readDefinition(kind: DocumentKind): Promise<IndexDefinition> {
  const known = definitions.get(kind) ?? readJson(kind)
  definitions.set(kind, known)
  return known
}

async function readJson(kind: DocumentKind): Promise<IndexDefinition> {
  const file = new URL(`../../../mappings/${kind}.json`, import.meta.url)
  return JSON.parse(await readFile(file, 'utf8')) as IndexDefinition
}
