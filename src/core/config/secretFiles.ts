import { readFileSync } from 'node:fs'
import type { Problem } from '../model/schema.ts'

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Secrets, and what often stands beside them in a store of secrets. */
const secrets = [
  ...['ELASTICSEARCH_URL', 'ELASTICSEARCH_USERNAME', 'ELASTICSEARCH_PASSWORD', 'ELASTICSEARCH_API_KEY'],
  ...['KAFKA_BROKERS', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'],
  ...['KAFKA_OAUTH_CLIENT_ID', 'KAFKA_OAUTH_CLIENT_SECRET', 'REDIS_URL', 'REDIS_SENTINELS', 'SIGN_IN_SECRET'],
]
/** `REDIS_URL_FILE` and the like: the variable that names a file → the variable whose value the file holds. */
export const fileVariables: ReadonlyMap<string, string> = new Map(secrets.map((name) => [`${name}_FILE`, name]))

/** Reads the values that are given as files. A line break at the end of a file is no part of its value. */
export function readSecretFiles(environment: Environment) {
  const values: Record<string, string | undefined> = { ...environment }
  const problems = new Map<string, Problem>()
  for (const [path, name] of fileVariables) {
    const file = environment[path]
    if (file === undefined) continue
    try {
      if (values[name] !== undefined) throw new Error(`must not be set together with ${name}`)
      values[name] = readFileSync(file, 'utf8').replace(/[\r\n]+$/, '')
      if (values[name] === '') throw new Error(`names ${file}, which is empty`)
    } catch (error) {
      problems.set(name, { path, rule: (error as Error).message })
    }
  }
  return { values, problems }
}

/** Settings, or every problem with them. */
export type Read<Settings> =
  | { readonly ok: true; readonly config: Settings }
  | { readonly ok: false; readonly problems: readonly Problem[] }
type OnProblems = (problems: readonly Problem[]) => void
export type Rereading<Settings> = { latest(): Settings; onProblems: OnProblems }

const rereadMs = 1_000

/** Settings of which some come from files, which may be replaced while the process runs. */
export function rereading<Settings>(first: Settings, read: () => Read<Settings>): Rereading<Settings> {
  let [settings, readAtMs, told] = [first, performance.now(), '']
  const files = {
    /** Called with what is wrong with the files, and not again for the same; the settings stay as they were. */
    onProblems: ((): void => undefined) as OnProblems,
    /** Reads the files at most once a second: it may be called for every request. */
    latest: (): Settings => {
      if (performance.now() - readAtMs < rereadMs) return settings
      readAtMs = performance.now()
      const now = read()
      if (now.ok) settings = now.config
      const problems = now.ok ? '' : JSON.stringify(now.problems)
      if (!now.ok && problems !== told) files.onProblems(now.problems)
      told = problems
      return settings
    },
  }
  return files
}
