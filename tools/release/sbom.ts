import { mkdir, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runSupervised } from '../engines/supervisedProgram.ts'

type Locked = {
  readonly version: string
  readonly name?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
}
export type LockFile = { readonly packages: Readonly<Record<string, Locked>> }
type Component = { readonly purl?: string; readonly components?: readonly Component[] }
type Sbom = { readonly components?: readonly Component[] }

const deadlineMs = 120_000
const program = 'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js'

/**
 * Writes the software bill of materials of the shipped packages, as CycloneDX JSON. The same lock file gives the same bytes. Resolves with the number
 * of packages; rejects if a shipped package is missing.
 */
export async function writeSbom(root: string, path: string, signal: AbortSignal): Promise<number> {
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.draft`
  const flags = ['--package-lock-only', '--omit', 'dev', '--output-reproducible', '--output-format', 'JSON']
  const args = [join(root, program), ...flags, '--output-file', draft, join(root, 'package.json')]
  const command = { command: process.execPath, args, cwd: root, env: process.env }
  await runSupervised(command, { what: 'cyclonedx-npm', logPath: `${path}.log`, deadlineMs, signal })
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as LockFile
  const missing = missingPackages(lock, JSON.parse(await readFile(draft, 'utf8')) as Sbom)
  if (missing.length > 0) throw new Error(`the bill of materials lacks ${missing.join(', ')}`)
  await rename(draft, path)
  return shippedPackages(lock).length
}

function missingPackages(lock: LockFile, sbom: Sbom): string[] {
  const listed = new Set(packagesOf(sbom.components))
  return shippedPackages(lock).filter((name) => !listed.has(name))
}

function shippedPackages({ packages }: LockFile): string[] {
  const names = Object.entries(packages)
    .filter(([folder, { dev, devOptional }]) => folder !== '' && dev !== true && devOptional !== true)
    .map(([folder, { name, version }]) => `${name ?? folder.replace(/^.*node_modules\//, '')}@${version}`)
  return [...new Set(names)].sort()
}

const packagesOf = (components: readonly Component[] = []): string[] =>
  components.flatMap(({ purl = '', components: inner }) => [
    decodeURIComponent(purl.replace(/^pkg:npm\//, '').replace(/[?#].*$/, '')),
    ...packagesOf(inner),
  ])
