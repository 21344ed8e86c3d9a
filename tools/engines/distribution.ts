import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Jdk, javaLocale } from './jdk.ts'
import { logTail } from './logTail.ts'
import { findOnPath } from './permissions.ts'
import { runSupervised } from './supervisedProgram.ts'
import { unpackOnce } from './unpackOnce.ts'
import { pause } from './waiting.ts'

type Artifact = {
  groupId: string
  artifactId: string
  version: string
  type?: string
  /** Whether its dependencies are left out. */
  alone?: boolean
}
/** An engine's files, unpacked once and shared by every folder that runs it. */
export type Distribution = {
  /** Folder name; contains the version. */
  name: string
  artifacts: readonly Artifact[]
  /** Unpacks the artefacts in the folder `fetched`; returns the folder in it that becomes the distribution. */
  unpack(from: { fetched: string; jar: (archive: string, into: string) => Promise<void> }): Promise<string>
}
export type ReportFetch = (step: 'fetching' | 'unpacking', detail?: string) => void
type FetchOptions = { jdk: Jdk; logPath: string; report: ReportFetch; signal: AbortSignal }

const fetchDeadlineMs = 20 * 60_000
const unpackDeadlineMs = 3 * 60_000
const progressMs = 500
const pluginVersion = '3.8.1'

/**
 * Fetches and unpacks a distribution to `<folder>/<name>` unless it exists, and returns that path. Rejects if Maven or `jar` fails; the log has their
 * output.
 */
export const ensureUnpacked = (folder: string, distribution: Distribution, options: FetchOptions): Promise<string> =>
  unpackOnce(
    folder,
    distribution.name,
    async (draft) => {
      const fetched = await fetch(draft, distribution, options)
      options.report('unpacking')
      const jar = (archive: string, into: string) => unpackArchive(archive, into, options)
      return distribution.unpack({ fetched, jar })
    },
    options.signal,
  )

const fetch = async (draft: string, { artifacts }: Distribution, options: FetchOptions): Promise<string> => {
  const { jdk, logPath, report, signal } = options
  const fetched = join(draft, 'fetched')
  const pom = join(draft, 'pom.xml')
  await writeFile(pom, renderPom(artifacts))
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${fetched}`]
  const command = {
    command: (await findOnPath('mvn', process.env)) ?? 'mvn',
    args: ['-f', pom, '-Dstyle.color=never', ...goal],
    cwd: draft,
    env: { ...process.env, JAVA_HOME: jdk.home, MAVEN_OPTS: quickMaven(process.env['MAVEN_OPTS']) },
  }
  report('fetching')
  const done = new AbortController()
  const watching = watchDownload(options, AbortSignal.any([done.signal, signal]))
  try {
    await runSupervised(command, { what: 'Maven', logPath, deadlineMs: fetchDeadlineMs, signal })
  } finally {
    done.abort()
    await watching
  }
  return fetched
}

/** Maven runs for seconds, too short for the C2 compiler to pay off. */
const quickMaven = (userOptions = ''): string => `-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${userOptions}`.trim()

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

/** Only dependencies. Mirrors and proxies are those of the user's Maven settings. */
const renderPom = (artifacts: readonly Artifact[]): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId>
  <artifactId>engines</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${artifacts.map(renderDependency).join('\n')}
  </dependencies>
  <build><pluginManagement><plugins><plugin>
    <groupId>org.apache.maven.plugins</groupId>
    <artifactId>maven-dependency-plugin</artifactId>
    <version>${pluginVersion}</version>
  </plugin></plugins></pluginManagement></build>
</project>
`

const renderDependency = ({ groupId, artifactId, version, type, alone }: Artifact): string => {
  const named = `<groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId><version>${version}</version>`
  const typed = type === undefined ? '' : `<type>${type}</type>`
  const excluded = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
  return `    <dependency>${named}${typed}${alone ? excluded : ''}</dependency>`
}

const progressPattern = /Progress \(\d+\):[^\r\n]*?(\d[\d.]*\/\d[\d.]* [kMG]?B)/g

/** Of the latest download in Maven's output, for example `12/124 MB`. */
const downloadProgress = (output: string): string | undefined => [...output.matchAll(progressPattern)].at(-1)?.[1]
