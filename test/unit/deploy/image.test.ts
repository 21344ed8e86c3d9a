import { existsSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { commands } from '../../../bin/commands.ts'
import { nameOf, parsePins } from '../../../tools/release/imagePins.ts'
import { loading, specifiersOf } from '../../support/imports.ts'

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n')
const dockerfile = readFileSync('Dockerfile', 'utf8')
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }

/** What the last stage takes from the folder of the project. */
const copied = dockerfile
  .slice(dockerfile.lastIndexOf('\nFROM '))
  .split('\n')
  .flatMap((line) => /^COPY (?!--from)(\S+) \S+$/.exec(line)?.[1] ?? [])
const admitted = linesOf('.dockerignore').flatMap((line) => /^!(\S+)$/.exec(line)?.[1] ?? [])
const isUnder = (file: string, paths: readonly string[]): boolean =>
  paths.some((path) => file === path || file.startsWith(`${path}/`))

/** The program, and each of its commands that the image holds. */
const entries = ['bin/tidemark.ts', ...commands.map(({ file }) => file).filter((file) => isUnder(file, copied))]

function loadedFrom(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return seen
  seen.add(entry)
  for (const specifier of specifiersOf(entry, loading)) {
    if (specifier.startsWith('.')) loadedFrom(join(dirname(entry), specifier), seen)
    else seen.add(packageOf(specifier))
  }
  return seen
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

test('the image has every process and command that ships, and those of the sample', () => {
  const held = commands.filter(({ file }) => entries.includes(file)).map(({ name }) => name)
  const ships = ['api', 'indexer', 'settings', 'keys', 'rebuild', 'verify', 'erase', 'dead-letters', 'health']
  expect(held).toEqual([...ships, 'sample', 'sample-settings', 'sign-in'])
})

test('the program is on its PATH, and the image runs nothing else', () => {
  expect(dockerfile).toMatch(/^ENV (?:.*\\\n)*\s+PATH=\/app\/bin:\$PATH/m)
  expect(dockerfile).toMatch(/^ENTRYPOINT \["tidemark"\]\nCMD \["api"\]$/m)
  expect(dockerfile).toMatch(/^HEALTHCHECK .* CMD \["tidemark", "health", "\/livez"\]$/m)
  expect(readFileSync('docker-compose.yml', 'utf8')).not.toMatch(/\bnode, /)
})

test.each(entries)('the image has every file that %s loads, and no package that production does not need', (entry) => {
  const loaded = [...loadedFrom(entry)]
  // A page's script that a module shares with browsers is a file of ours, too.
  const isFile = (each: string): boolean => each.endsWith('.ts') || existsSync(each)
  const files = loaded.filter(isFile)
  const packages = loaded.filter((each) => !isFile(each) && !each.startsWith('node:'))
  expect(files).toContain(entry)
  expect(files.filter((file) => !isUnder(file, copied))).toEqual([])
  expect(packages.filter((name) => !(name in dependencies) && !builtinModules.includes(name))).toEqual([])
})

test('.dockerignore admits the copied files, and nothing else', () => {
  expect(copied.filter((path) => path !== 'package-lock.json').length).toBeGreaterThan(5)
  expect(admitted.sort()).toEqual([...copied, 'package-lock.json'].sort())
  expect(linesOf('.dockerignore')).toContain('*')
})

test('the image runs as a numeric user other than root, from the pinned base image', () => {
  expect(dockerfile).toMatch(/\nUSER 1000:1000\n/)
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  expect(bases).toEqual([`\${NODE_IMAGE}`, `\${NODE_IMAGE}`])
  const pinned = parsePins(readFileSync('deploy/images.env', 'utf8')).find(({ variable }) => variable === 'NODE_IMAGE')
  expect(pinned && nameOf(pinned.reference)).toBe(/^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile)?.[1])
})

test('the image has title, version, revision and base as labels of the Open Container Initiative', () => {
  const labels = [...dockerfile.matchAll(/org\.opencontainers\.image\.([\w.]+)="([^"]+)"/g)]
  expect(Object.fromEntries(labels.map(([, name = '', value = '']) => [name, value]))).toEqual({
    title: 'Tidemark',
    description: expect.any(String),
    version: `\${VERSION}`,
    revision: `\${REVISION}`,
    'base.name': `\${NODE_IMAGE}`,
  })
})

test('a Node that is too old fails the build before anything is installed', () => {
  const steps = ['RUN node src/core/process/requiredNode.cjs', 'RUN npm ci'].map((step) => dockerfile.indexOf(step))
  expect(steps[0]).toBeGreaterThan(0)
  expect(steps[0]).toBeLessThan(steps[1] ?? 0)
})

test('the admin port can be reached from outside a container', () => {
  expect(dockerfile).toMatch(/^ENV (?:.*\\\n)*\s+ADMIN_HOST=0\.0\.0\.0(?: \\)?$/m)
})
