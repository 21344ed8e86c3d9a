import { chooseJdk, type Jdk } from './jdk.ts'
import type { User } from './permissions.ts'

/** What one engine needs of the machine. */
export type Need = {
  /** As a sentence names it. */
  engine: string
  /** Major version; undefined: any JDK will do. */
  minJdk?: number
  /** The JDKs that this engine could use, whatever their version. */
  jdks: readonly Jdk[]
  /** The user who must be able to run that JDK, where it is another one. */
  user?: User
  /** Whether something is still to be fetched with Maven. */
  fetches: boolean
}

/** Thrown with everything that is missing, each problem a sentence or two that say what to install. */
export class PrerequisitesMissing extends Error {
  readonly problems: readonly string[]
  /** EX_CONFIG of sysexits. */
  readonly exitCode = 78

  constructor(problems: readonly string[]) {
    super(`The engines need what is missing here:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
    this.name = 'PrerequisitesMissing'
    this.problems = problems
  }
}

const usualJdk = 21

const jdkAdvice = (major: number): string =>
  `Install one and, where it lies in no usual folder, set JAVA_HOME. Debian 13, Ubuntu: apt-get install ` +
  `openjdk-${major}-jdk-headless; Debian 12: temurin-${major}-jdk from Adoptium's package repository; ` +
  `macOS: brew install openjdk@${major}.`
const mavenAdvice = 'Install it: Debian, Ubuntu: apt-get install maven; macOS: brew install maven.'

/** Everything that `needs` and this machine lacks. */
export const missing = (needs: readonly Need[], mavenFound: boolean): string[] => {
  const lacking = needs.filter(({ minJdk = 0, jdks }) => chooseJdk(jdks, minJdk) === undefined)
  const fetching = needs.filter(({ fetches }) => fetches)
  return [
    ...(lacking.length > 0 ? [missingJdk(lacking)] : []),
    ...(fetching.length > 0 && !mavenFound ? [missingMaven(fetching)] : []),
  ]
}

const missingJdk = (lacking: readonly Need[]): string => {
  const homes = lacking.flatMap(({ jdks }) => jdks.map(({ home, major }) => `${major} in ${home}`))
  const found = homes.length === 0 ? 'none' : [...new Set(homes)].join(', ')
  const newest = Math.max(usualJdk, ...lacking.map(({ minJdk = 0 }) => minJdk))
  return `A JDK for ${lacking.map(wantedJdk).join(', ')}; found ${found}. ${jdkAdvice(newest)}`
}

const wantedJdk = ({ engine, minJdk, user }: Need): string => {
  const version = minJdk === undefined ? 'any version' : `${minJdk} or newer`
  return `${engine} (${version}${user === undefined ? '' : `, where user ${user.uid} may run it`})`
}

const missingMaven = (fetching: readonly Need[]): string =>
  `Maven, to fetch ${fetching.map(({ engine }) => engine).join(', ')} once: no mvn is on PATH. ${mavenAdvice}`
