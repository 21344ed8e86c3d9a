import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { findOnPath } from './executables.ts'
import { type Jdk, javaLocale } from './jdk.ts'
import { logTail } from './logTail.ts'
import { type Artifact, downloadProgress, renderPom } from './pom.ts'
import { type Command, runSupervised } from './supervisedProgram.ts'
import { unpackOnce } from './unpackOnce.ts'
import { pause } from './waiting.ts'

/** What is unpacked once and shared by every folder that runs the engine. */
export type Distribution = {
  /** Folder name, which tells the version. */
  name: string
  artifacts: readonly Artifact[]
  /** Turns what was fetched into `home`; returns the folder, inside `draft`, that shall become the distribution. */
  unpack(draft: { fetched: string; jar: (archive: string, into: string) => Promise<void> }): Promise<string>
}
export type FetchOptions = {
  jdk: Jdk
  logPath: string
  report: (step: 'fetching' | 'unpacking', detail?: string) => void
  signal: AbortSignal
}

const fetchDeadlineMs = 20 * 60_000
const unpackDeadlineMs = 3 * 60_000
const progressMs = 500

/**
 * Fetches and unpacks `distribution` to `<folder>/<name>` unless it is there, and returns that path. Rejects with Maven's
 * last lines when something cannot be had.
 */
export const ensureUnpacked = (folder: string, distribution: Distribution, options: FetchOptions): Promise<string> =>
  unpackOnce(folder, distribution.name, async (draft) => {
    const fetched = await fetch(draft, distribution, options)
    options.report('unpacking')
    const jar = (archive: string, into: string) => unpackArchive(archive, into, options)
    return distribution.unpack({ fetched, jar })
  })

const fetch = async (draft: string, { artifacts }: Distribution, options: FetchOptions): Promise<string> => {
  const fetched = join(draft, 'fetched')
  const pom = join(draft, 'pom.xml')
  await writeFile(pom, renderPom(artifacts))
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${fetched}`]
  const maven = await findOnPath('mvn', process.env)
  const args = ['-f', pom, '-Dstyle.color=never', ...goal]
  const command: Command = {
    command: maven ?? 'mvn',
    args,
    cwd: draft,
    env: { ...definedIn(process.env), JAVA_HOME: options.jdk.home, MAVEN_OPTS: quickMaven(process.env['MAVEN_OPTS']) },
  }
  options.report('fetching')
  const done = new AbortController()
  const watching = watchDownload(options, AbortSignal.any([done.signal, options.signal]))
  try {
    const { logPath, signal } = options
    await runSupervised(command, { what: 'Maven', logPath, deadlineMs: fetchDeadlineMs, signal })
  } finally {
    done.abort()
    await watching
  }
  return fetched
}

/** Maven runs for seconds: a thorough compiler would only compete with the engines that start meanwhile. */
const quickMaven = (given = ''): string => `-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${given}`.trim()

const watchDownload = async ({ logPath, report }: FetchOptions, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const progress = downloadProgress(await logTail(logPath))
    if (progress !== undefined) report('fetching', progress)
    await pause(progressMs, signal).catch(() => undefined)
  }
}

const unpackArchive = async (archive: string, into: string, { jdk, logPath, signal }: FetchOptions): Promise<void> => {
  await mkdir(into, { recursive: true })
  const command = { command: join(jdk.home, 'bin', 'jar'), args: ['xf', archive], cwd: into, env: javaLocale }
  await runSupervised(command, {
    what: `Unpacking ${basename(archive)}`,
    logPath,
    deadlineMs: unpackDeadlineMs,
    signal,
  })
}

const definedIn = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
