import { readFileSync } from 'node:fs'

/** `import … from '…'`, `export … from '…'`, `import '…'` and `import('…')`. */
const statement = /(?:^|\n)(?:import|export)\s[^'"]*?from\s+'([^']+)'|(?:^|\n)import\s+'([^']+)'|import\('([^']+)'\)/g

/** Statements that load a module, unlike `import type`. */
export const loading = /^(?!import type|export type)/

/** The specifiers of a file's import statements that match `kept`. */
export const specifiersOf = (file: string, pattern = /./): string[] =>
  [...readFileSync(file, 'utf8').matchAll(statement)]
    .filter(([text]) => pattern.test(text.trim()))
    .map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '')
