import { readFileSync } from 'node:fs'

/** The variables of an environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The items of a list, which commas separate. */
export const itemsOf = (value: string | undefined): string[] =>
  (value ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

/** Whether a value lists nothing, such as commas alone. */
export const isBlank = (value: string | undefined): boolean => itemsOf(value).length === 0

/** A variable that is empty counts as one that is not set. */
export const withoutEmpty = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))

/** The engines' addresses that `npm run engines` has written; nothing where there is no such file. */
export function readEnginesFile(path: string): Environment {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    return Object.fromEntries(lines.flatMap((line) => (line.includes('=') ? [splitOnce(line)] : [])))
  } catch {
    return {}
  }
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf('=')
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}
