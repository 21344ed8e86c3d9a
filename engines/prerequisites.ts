import { chooseJdk, type Jdk } from './jdk.ts'

/** What one engine needs of the machine. */
export type Need = {
  /** As a sentence begins with it. */
  engine: string
  /** Undefined: any JDK will do. */
  minJdk?: number
  /** The JDKs that this engine could use, whatever their version. */
  jdks: readonly Jdk[]
  /** Whether something is still to be fetched with Maven. */
  fetches: boolean
}

/** Thrown with everything that is missing, each problem a sentence or two that say what to install. */
export class PrerequisitesMissing extends Error {
  readonly problems: readonly string[]
  /** EX_CONFIG of sysexits. */
  readonly exitCode = 78

  constructor(problems: readonly string[]) {
    super(`The engines cannot run here:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
    this.name = 'PrerequisitesMissing'
    this.problems = problems
  }
}

const jdkAdvice = (major: number): string =>
  `Install one and, where it lies in no usual folder, set JAVA_HOME. Debian 13, Ubuntu: apt-get install ` +
  `openjdk-${major}-jdk-headless; Debian 12: temurin-${major}-jdk from Adoptium's package repository; ` +
  `macOS: brew install openjdk@${major}.`
const mavenAdvice = 'Install it: Debian, Ubuntu: apt-get install maven; macOS: brew install maven.'

/** Everything that `needs` and this machine lacks. */
export const missing = (needs: readonly Need[], mavenFound: boolean): string[] => {
  const fetching = needs.filter((need) => need.fetches).map((need) => need.engine)
  const maven =
    fetching.length === 0 || mavenFound
      ? []
      : [`Maven (mvn) is not on PATH; it fetches ${fetching.join(', ')} once. ${mavenAdvice}`]
  return [...needs.flatMap(missingJdk), ...maven]
}

const missingJdk = ({ engine, minJdk = 0, jdks }: Need): string[] => {
  if (chooseJdk(jdks, minJdk) !== undefined) return []
  const wanted = minJdk === 0 ? 'a JDK' : `a JDK ${minJdk} or newer`
  const found = jdks.map(({ home, major }) => `${major} in ${home}`).join(', ')
  return [`${engine} needs ${wanted}, found ${found === '' ? 'none' : found}. ${jdkAdvice(Math.max(minJdk, 21))}`]
}
