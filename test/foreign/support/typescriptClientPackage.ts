import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describeApi } from '../../../src/api/openapi/openapi.ts'
import { installPackages } from '../../support/installPackages.ts'

const source = 'clients/typescript'
const programs = 'test/foreign/typescriptClient'
const deadlineMs = 5 * 60_000

/** Runs a program and returns its standard output; rejects with all that it says when it fails. */
async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const ended = promisify(execFile)(command, args, { cwd, timeout: deadlineMs })
  const { stdout } = await ended.catch(({ message, stdout }: { message: string; stdout: string }) => {
    throw new Error(`${message}\n${stdout}`)
  })
  return stdout
}

/**
 * Builds and packs the TypeScript client in `folder` as its publisher does, and installs it into an empty project beside it, with the programs that use
 * it.
 */
export async function installClient(folder: string) {
  const tools = join(await installPackages(source, 'var/clients'), 'node_modules')
  const build = join(folder, 'repository', source)
  await mkdir(build, { recursive: true })
  await cp('tsconfig.json', join(folder, 'repository/tsconfig.json'))
  for (const name of ['package.json', 'tsconfig.json', 'README.md', 'src'])
    await cp(join(source, name), join(build, name), { recursive: true })
  await symlink(tools, join(build, 'node_modules'))
  const [packed] = JSON.parse(await run('npm', ['pack', '--json'], build)) as readonly {
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]

  const project = join(folder, 'project')
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await run('npm', ['install', '--no-audit', '--no-fund', join(build, packed?.filename ?? '')], project)
  for (const name of ['program.ts', 'types.ts', 'otherFetch.ts', 'main.mjs'])
    await cp(join(programs, name), join(project, name))
  const compile = (tsc: string, options: readonly string[]): Promise<string> =>
    run(tsc, ['--strict', '--module', 'nodenext', '--target', 'es2022', ...options, 'program.ts', 'types.ts'], project)
  const own = join(tools, '.bin/tsc')
  await compile(own, ['--rewriteRelativeImportExtensions', '--declaration'])
  return {
    project,
    packed: packed?.files.map(({ path }) => path) ?? [],
    /** Compiles the programs as a project that has the types of Node and not those of browsers, by this project's compiler. */
    compileForNode: (): Promise<string> => {
      const types = ['--lib', 'es2022', '--types', 'node', '--typeRoots', resolve('node_modules/@types')]
      const options = ['--noEmit', '--allowImportingTsExtensions', '--exactOptionalPropertyTypes', ...types]
      return compile(resolve('node_modules/.bin/tsc'), options)
    },
    checkByDeno: (deno: string): Promise<string> => run(deno, ['check', '--quiet', 'program.ts', 'types.ts'], project),
    /** The types of the API's answers, generated anew from its description. */
    generateTypes: async (): Promise<string> => {
      await writeFile(join(folder, 'openapi.json'), JSON.stringify(describeApi('/api/v1')))
      await run(join(tools, '.bin/openapi-typescript'), ['openapi.json', '--output', 'openapi.ts'], folder)
      return await readFile(join(folder, 'openapi.ts'), 'utf8')
    },
  }
}

/** Node 20 (undefined where npm has none) and Deno, which are brought by npm once. */
export async function installRuntimes(): Promise<{ readonly node20: string; readonly deno: string }> {
  const modules = join(await installPackages(programs, 'var/clients'), 'node_modules')
  return {
    node20: join(modules, `node-${process.platform}-${process.arch}`, 'bin/node'),
    deno: join(modules, '.bin/deno'),
  }
}
