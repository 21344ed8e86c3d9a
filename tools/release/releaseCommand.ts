import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { runInForeground } from '../engines/foreground.ts'
import { packageFiles, releaseProblems } from './check.ts'
import { nameOf, parsePins, withDigests } from './imagePins.ts'
import { resolveDigest } from './registry.ts'
import { writeSbom } from './sbom.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const textOf = (path: string): Promise<string> => readFile(join(root, path), 'utf8')
const versionIn = async (path: string): Promise<string> =>
  (JSON.parse(await textOf(path)) as { version: string }).version
const sbomPath = async (): Promise<string> =>
  join(root, 'var/release', `tidemark-${await versionIn('package.json')}.cdx.json`)
const say = (line: string): boolean => process.stdout.write(`${line}\n`)

export const command = new Command()
command
  .command('sbom')
  .description('writes the software bill of materials (CycloneDX) of what ships')
  .option('--output <file>', 'default: var/release/tidemark-<version>.cdx.json')
  .action(({ output }: { output?: string }) =>
    runInForeground(async (stopped) => {
      const path = output ?? (await sbomPath())
      const count = await writeSbom(root, path, stopped)
      say(`${path}: ${count} packages`)
    }),
  )
command
  .command('pin-images')
  .description('writes the digests of all images into the file of pins')
  .requiredOption(
    '--registry <url>',
    'for images whose name has no host; the registry that Docker pulls from, or a mirror',
  )
  .option('--file <path>', 'the file of pins', join(root, 'deploy/images.env'))
  .action(({ registry, file }: { registry: string; file: string }) =>
    runInForeground(async (stopped) => {
      const text = await readFile(file, 'utf8')
      const resolved = await Promise.all(
        parsePins(text).map(async ({ variable, reference }) => {
          const digest = await resolveDigest(reference, registry, stopped)
          say(`${nameOf(reference)} ${digest}`)
          return [variable, digest] as const
        }),
      )
      await writeFile(file, withDigests(text, new Map(resolved)))
    }),
  )
command
  .command('check')
  .description('lists what is missing for a release; exit code 1 if anything is')
  .action(() =>
    runInForeground(async (stopped) => {
      const version = await versionIn('package.json')
      const lockedVersion = await versionIn('package-lock.json')
      const changelog = await textOf('CHANGELOG.md')
      const dockerfile = await textOf('Dockerfile')
      const compose = await textOf('docker-compose.yml')
      const pins = parsePins(await textOf('deploy/images.env'))
      const airbyteDockerfile = await textOf('connectors/airbyte/Dockerfile')
      const packages = new Map(
        await Promise.all(packageFiles(root).map(async (path) => [path, await textOf(path)] as const)),
      )
      const files = { version, lockedVersion, changelog, dockerfile, airbyteDockerfile, compose, pins, packages }
      const problems = releaseProblems(files)
      await writeSbom(root, await sbomPath(), stopped).catch((error: Error) => problems.push(error.message))
      if (problems.length > 0) throw new Error(problems.join('\n'))
      say(`${version} can be released`)
    }),
  )
