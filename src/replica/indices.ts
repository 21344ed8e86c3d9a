import { readFile } from 'node:fs/promises'
import type { Branded } from '../domain/identifiers.ts'

/** Two indices an entity: the list index carries search keys and the summary, the detail index the single answer. */
export const documentKinds = ['forms', 'form-details', 'submissions', 'submission-details'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** The name that readers and writers use; it points at one physical index. */
export type Alias = Branded<string, 'Alias'>

export type IndexDefinition = {
  readonly version: number
  readonly settings: Readonly<Record<string, unknown>>
  readonly mappings: Readonly<Record<string, unknown>>
}

export const aliasOf = (prefix: string, kind: DocumentKind): Alias => `${prefix}-${kind}` as Alias

/** The physical index behind an alias: `<prefix>-<kind>-v<mapping version>-<generation>`. */
export const physicalName = (prefix: string, kind: DocumentKind, version: number, generation: number): string =>
  `${prefix}-${kind}-v${version}-${generation}`

/** Reads `mappings/<kind>.json`. */
export async function readDefinition(kind: DocumentKind): Promise<IndexDefinition> {
  const file = new URL(`../../mappings/${kind}.json`, import.meta.url)
  return JSON.parse(await readFile(file, 'utf8')) as IndexDefinition
}
