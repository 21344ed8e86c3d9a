import { readFileSync } from 'node:fs'
import type { Problem } from '../model/schema.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Secrets, and also addresses and users, which stores of secrets often contain. */
const secrets = [
  'ELASTICSEARCH_URL',
  'ELASTICSEARCH_USERNAME',
  'ELASTICSEARCH_PASSWORD',
  'ELASTICSEARCH_API_KEY',
  'KAFKA_BROKERS',
  'KAFKA_SASL_USERNAME',
  'KAFKA_SASL_PASSWORD',
  'KAFKA_OAUTH_CLIENT_ID',
  'KAFKA_OAUTH_CLIENT_SECRET',
  'REDIS_URL',
  'REDIS_SENTINELS',
  'SIGN_IN_SECRET',
]
/** `REDIS_URL_FILE` → `REDIS_URL`. */
export const fileVariables: ReadonlyMap<string, string> = new Map(secrets.map((name) => [`${name}_FILE`, name]))

type WithSecrets = {
  /** With the content of files, without line breaks at their ends. */
  readonly values: Environment
  /** Variable whose value could not be read → problem. */
  readonly problems: ReadonlyMap<string, Problem>
}

export function readSecretFiles(environment: Environment): WithSecrets {
  const values: Record<string, string | undefined> = { ...environment }
  const problems = new Map<string, Problem>()
  for (const [fileVariable, name] of fileVariables) {
    const file = environment[fileVariable]
    if (file === undefined) continue
    try {
      if (values[name] !== undefined) throw new Error(`must not be set together with ${name}`)
      values[name] = readFileSync(file, 'utf8').replace(/[\r\n]+$/, '')
      if (values[name] === '') throw new Error(`names ${file}, which is empty`)
    } catch (error) {
      problems.set(name, { path: fileVariable, rule: (error as Error).message })
    }
  }
  return { values, problems }
}

export type ConfigResult<Settings> =
  | { readonly ok: true; readonly config: Settings }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export interface ReloadedSettings<Settings> {
  /** Reads the files at most once a second: may be called for every request. */
  latest(): Settings
  /** To be assigned: called when the files become unusable, or unusable in another way. `latest` then returns the last usable settings. */
  onProblems(problems: readonly Problem[]): void
}

const rereadMs = 1_000

export function reloadedSettings<Settings>(
  initial: Settings,
  read: () => ConfigResult<Settings>,
): ReloadedSettings<Settings> {
  let settings = initial
  let readAtMs = performance.now()
  /** As JSON; empty once the files were usable again. */
  let reportedProblems = ''
  const reloaded: ReloadedSettings<Settings> = {
    onProblems: () => undefined,
    latest: () => {
      if (performance.now() - readAtMs < rereadMs) return settings
      readAtMs = performance.now()
      const reread = read()
      if (reread.ok) {
        settings = reread.config
        reportedProblems = ''
        return settings
      }
      const problems = JSON.stringify(reread.problems)
      if (problems !== reportedProblems) reloaded.onProblems(reread.problems)
      reportedProblems = problems
      return settings
    },
  }
  return reloaded
}
