import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Distribution, ensureUnpacked } from '../../../tools/engines/distribution.ts'
import { chooseJdk, findJdks, javaLocale } from '../../../tools/engines/jdk.ts'
import { readFrom } from '../../../tools/engines/logTail.ts'
import { runSupervised } from '../../../tools/engines/supervisedProgram.ts'
import { installPackages } from '../../support/installPackages.ts'

const generatorVersion = '7.25.0'
const jackson = (group: string, artifactId: string) => ({
  groupId: `com.fasterxml.jackson.${group}`,
  artifactId,
  version: '2.21.5',
})
/** openapi-generator, and what the client that it generates in Java needs. */
const distribution: Distribution = {
  name: `openapi-generator-${generatorVersion}`,
  artifacts: [
    { groupId: 'org.openapitools', artifactId: 'openapi-generator-cli', version: generatorVersion, alone: true },
    jackson('core', 'jackson-databind'),
    jackson('datatype', 'jackson-datatype-jsr310'),
    { groupId: 'org.openapitools', artifactId: 'jackson-databind-nullable', version: '0.2.11' },
    { groupId: 'jakarta.annotation', artifactId: 'jakarta.annotation-api', version: '1.3.5' },
    { groupId: 'com.google.code.findbugs', artifactId: 'jsr305', version: '3.0.2' },
  ],
  unpack: async ({ fetched }) => fetched,
}
const minJdk = 17
const installMs = 12 * 60_000
const stepMs = 5 * 60_000

export type Environment = Readonly<Record<string, string>>
type Run = { readonly cwd: string; readonly env?: Environment }

/** Runs a program and returns what it says; rejects with that when it fails. */
async function run(command: string, args: readonly string[], { cwd, env = {} }: Run): Promise<string> {
  const logPath = join(cwd, 'said.log')
  await writeFile(logPath, '')
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const order = { command, args: [...args], cwd, env: { ...Object.fromEntries(inherited), ...env } }
  const signal = new AbortController().signal
  try {
    await runSupervised(order, { what: command, logPath, deadlineMs: stepMs, signal })
  } catch (error) {
    throw new Error(`${(error as Error).message}; it said:\n${await readFrom(logPath, 0)}`, { cause: error })
  }
  return await readFrom(logPath, 0)
}

/** The JDK, openapi-generator and its jars; fetches them first if missing. */
async function useJava(folder: string) {
  const jdk = chooseJdk(await findJdks(process.env), minJdk)
  if (jdk === undefined) throw new Error(`no JDK ${minJdk} or later was found`)
  const options = { jdk, logPath: join(folder, 'maven.log'), report: () => undefined }
  const signal = AbortSignal.timeout(installMs)
  const jars = await ensureUnpacked(resolve('var/engines'), distribution, { ...options, signal })
  return { bin: join(jdk.home, 'bin'), jars }
}

const typescript = resolve('test/foreign/typescript')

/** A folder with a file that holds `description`, for the generators and what they generate. */
export async function openGenerators(folder: string, description: string) {
  const spec = join(folder, 'openapi.json')
  await writeFile(spec, description)
  const goFolder = join(folder, 'go')
  const typescriptFolder = join(folder, 'typescript')
  await cp(resolve('test/foreign/go'), goFolder, { recursive: true })
  await cp(typescript, typescriptFolder, { recursive: true })
  return {
    spec,
    /** Compiles oapi-codegen, which Go then keeps. */
    prepareGo: () => run('go', ['tool', 'oapi-codegen', '-version'], { cwd: goFolder }),
    prepareTypescript: async () =>
      symlink(
        join(await installPackages(typescript, 'var/clients'), 'node_modules'),
        join(typescriptFolder, 'node_modules'),
      ),
    /** Generates what openapi-generator has for Java, Go, Python and TypeScript, in one process. */
    generateByOpenapiGenerator: async (): Promise<void> => {
      const { bin, jars } = await useJava(folder)
      const parts = { apiTests: false, modelTests: false, apiDocs: false, modelDocs: false }
      const wanted = [
        { generatorName: 'java', library: 'native', additionalProperties: { useSingleRequestParameter: true } },
        { generatorName: 'go', additionalProperties: { packageName: 'generator', withGoMod: false } },
        { generatorName: 'python' },
        { generatorName: 'typescript-fetch' },
      ]
      const outputs = ['java', 'go/generator', 'python', 'typescript/openapi-generator']
      const configs = wanted.map(({ generatorName }) => join(folder, `${generatorName}.json`))
      for (const [at, config] of configs.entries()) {
        const outputDir = join(folder, outputs[at] ?? '')
        await writeFile(config, JSON.stringify({ inputSpec: spec, outputDir, globalProperties: parts, ...wanted[at] }))
      }
      const jar = join(jars, `openapi-generator-cli-${generatorVersion}.jar`)
      const args = ['-XX:TieredStopAtLevel=1', '-jar', jar, 'batch', '--fail-fast', ...configs]
      await run(join(bin, 'java'), args, { cwd: folder, env: javaLocale })
    },
    /** Where openapi-generator has put its client in Python. */
    pythonClient: join(folder, 'python'),
    /** Compiles the client in Java, and runs the program that asks by it. */
    askInJava: async (env: Environment): Promise<string> => {
      const { bin, jars } = await useJava(folder)
      const classPath = join(jars, '*')
      const sources = join(folder, 'java/src/main/java/org/openapitools/client')
      const files = ['*.java', 'api/*.java', 'model/*.java'].map((pattern) => join(sources, pattern))
      // The shell expands the patterns.
      const compile = `exec "$0" -nowarn -proc:none -encoding UTF-8 -d classes -cp "$1" ${files.join(' ')}`
      await run('sh', ['-c', compile, join(bin, 'javac'), classPath], { cwd: folder, env: javaLocale })
      const program = resolve('test/foreign/java/Ask.java')
      const args = ['-XX:TieredStopAtLevel=1', '-cp', `classes:${classPath}`, program]
      return await run(join(bin, 'java'), args, { cwd: folder, env: { ...javaLocale, ...env } })
    },
    /** Generates by oapi-codegen, compiles both clients in Go, and runs the program that asks by them. */
    askInGo: async (env: Environment): Promise<string> => {
      await mkdir(join(goFolder, 'codegen'), { recursive: true })
      const how = ['-generate', 'types,client', '-package', 'codegen', '-o', 'codegen/client.go', spec]
      await run('go', ['tool', 'oapi-codegen', ...how], { cwd: goFolder })
      return await run('go', ['run', '.'], { cwd: goFolder, env })
    },
    /** Generates by hey-api and orval, compiles all clients in TypeScript, and runs the program that asks by them. */
    askInTypescript: async (env: Environment): Promise<string> => {
      const tool = (name: string, args: readonly string[]): Promise<string> =>
        run(join('node_modules/.bin', name), args, { cwd: typescriptFolder })
      await tool('openapi-ts', ['-i', spec, '-o', 'hey-api', '--silent'])
      await tool('orval', ['--input', spec, '--output', 'orval/client.ts'])
      await tool('tsc', ['--project', '.'])
      return await run(process.execPath, ['built/ask.js'], { cwd: typescriptFolder, env })
    },
    lint: (): Promise<string> => {
      const args = ['lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'hint', spec]
      return run('node_modules/.bin/spectral', args, { cwd: typescriptFolder })
    },
  }
}
