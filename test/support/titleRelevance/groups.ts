import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type RelevanceCase, readCases } from './cases.ts'

/** Rows that are judged together. */
export type CaseGroup = { readonly name: string; readonly cases: readonly RelevanceCase[] }

const filesOf = {
  given: ['title-relevance.tsv', 'title-relevance-sets.tsv'],
  own: ['title-relevance-more.tsv', 'title-relevance-more-sets.tsv'],
}

/** The rows that were given, and the project's own, which add scripts and traps. */
export const readGroups = (): CaseGroup[] =>
  Object.entries(filesOf).map(([name, files]) => ({ name, cases: files.flatMap(readFile) }))

function readFile(name: string): RelevanceCase[] {
  const file = `test/data/${name}`
  const bytes = readFileSync(fileURLToPath(new URL(`../../data/${name}`, import.meta.url)))
  return readCases(file, new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
}
