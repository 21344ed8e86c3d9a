import { chooseJdk, type Jdk } from './jdk.ts'
import type { User } from './permissions.ts'

export type Prerequisites = {
  engine: string
  /** Major version; 0: any. */
  minJdk: number
  /** The engine's user may run these. */
  jdks: readonly Jdk[]
  /** Undefined for the user of this process. */
  user?: User | undefined
  fetches: boolean
}

const usualJdk = 21

const jdkAdvice = (major: number): string =>
  `Install one and, where it lies in no usual folder, set JAVA_HOME. Debian 13, Ubuntu: apt-get install ` +
  `openjdk-${major}-jdk-headless; Debian 12: temurin-${major}-jdk from Adoptium's package repository; ` +
  `macOS: brew install openjdk@${major}.`
const mavenAdvice = 'Install it: Debian, Ubuntu: apt-get install maven; macOS: brew install maven.'

export const missingPrograms = (needs: readonly Prerequisites[], mavenFound: boolean): string[] => {
  const lacking = needs.filter(({ minJdk, jdks }) => chooseJdk(jdks, minJdk) === undefined)
  const fetching = needs.filter(({ fetches }) => fetches)
  return [
    ...(lacking.length > 0 ? [missingJdk(lacking)] : []),
    ...(fetching.length > 0 && !mavenFound ? [missingMaven(fetching)] : []),
  ]
}

const missingJdk = (lacking: readonly Prerequisites[]): string => {
  const homes = lacking.flatMap(({ jdks }) => jdks.map(({ home, major }) => `${major} in ${home}`))
  const installed = homes.length === 0 ? 'none' : [...new Set(homes)].join(', ')
  const newest = Math.max(usualJdk, ...lacking.map(({ minJdk }) => minJdk))
  return `A JDK for ${lacking.map(wantedJdk).join(', ')}; found ${installed}. ${jdkAdvice(newest)}`
}

const wantedJdk = ({ engine, minJdk, user }: Prerequisites): string => {
  const version = minJdk === 0 ? 'any version' : `${minJdk} or newer`
  return `${engine} (${version}${user === undefined ? '' : `, where user ${user.uid} may run it`})`
}

const missingMaven = (fetching: readonly Prerequisites[]): string =>
  `Maven, to fetch ${fetching.map(({ engine }) => engine).join(', ')} once: no mvn is on PATH. ${mavenAdvice}`
