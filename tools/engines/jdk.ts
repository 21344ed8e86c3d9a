import { readdir, readFile, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { executable } from './permissions.ts'

export type Jdk = { home: string; major: number }

/** Java needs a UTF-8 locale to open files with non-ASCII paths. */
export const javaLocale = { LC_ALL: 'C.UTF-8' }

/** Writes to stdout; `pattern` follows the time. */
export const consoleLog = (pattern: string): string => `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}]${pattern}
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
`

/** The major version, 8 for `1.8.0_392`; undefined if the `release` file has none. */
const majorOf = (release: string): number | undefined => {
  const version = /^JAVA_VERSION="(?:1\.)?(\d+)/m.exec(release)?.[1]
  return version === undefined ? undefined : Number(version)
}

export const chooseJdk = (jdks: readonly Jdk[], minMajor: number): Jdk | undefined =>
  jdks.find((jdk) => jdk.major >= minMajor)

/** JDKs in ES_JAVA_HOME, JAVA_HOME, PATH and the usual folders, in this order. */
export const findJdks = async (env: NodeJS.ProcessEnv): Promise<Jdk[]> => {
  const jdks = new Map<string, Jdk>()
  for (const home of await candidates(env)) {
    const jdk = await jdkAt(home)
    if (jdk !== undefined && !jdks.has(jdk.home)) jdks.set(jdk.home, jdk)
  }
  return [...jdks.values()]
}

const candidates = async (env: NodeJS.ProcessEnv): Promise<string[]> => {
  const named = [env['ES_JAVA_HOME'], env['JAVA_HOME']].filter((home) => home !== undefined && home !== '') as string[]
  const folders = [
    ['/usr/lib/jvm', ''],
    ['/Library/Java/JavaVirtualMachines', 'Contents/Home'],
    [join(homedir(), 'Library/Java/JavaVirtualMachines'), 'Contents/Home'],
    ['/opt/homebrew/opt', 'libexec/openjdk.jdk/Contents/Home'],
    ['/usr/local/opt', 'libexec/openjdk.jdk/Contents/Home'],
    [join(homedir(), '.sdkman/candidates/java'), ''],
  ] as const
  const usual = await Promise.all(folders.map(([folder, home]) => homesIn(folder, home)))
  return [...named, ...(await homesOnPath(env)), ...usual.flat()]
}

const homesIn = async (folder: string, home: string): Promise<string[]> => {
  const names = await readdir(folder).catch(() => [])
  return names.sort().map((name) => join(folder, name, home))
}

const homesOnPath = async (env: NodeJS.ProcessEnv): Promise<string[]> => {
  const commands = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const homes = commands.map((folder) => realpath(join(folder, 'java')).then((java) => dirname(dirname(java))))
  return (await Promise.allSettled(homes)).flatMap((home) => (home.status === 'fulfilled' ? [home.value] : []))
}

/** A Java runtime without `jar` is no JDK: `jar` unpacks the distributions. */
const jdkAt = async (home: string): Promise<Jdk | undefined> => {
  const tools = await Promise.all(['java', 'jar'].map((tool) => executable(join(home, 'bin', tool))))
  const major = majorOf(await readFile(join(home, 'release'), 'utf8').catch(() => ''))
  return tools.every(Boolean) && major !== undefined ? { home: await realpath(home), major } : undefined
}
