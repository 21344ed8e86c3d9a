import { readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { specifiersOf } from '../support/imports.ts'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** Room → the rooms it may import from, besides itself: src/core ← src/api | src/settings | indexer ← tools. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'src/core': [],
  'src/api': ['src/core'],
  'src/settings': ['src/core'],
  indexer: ['src/core'],
  tools: ['src/core', 'src/api', 'src/settings', 'indexer', 'docs'],
  // It loads the file of a command by the table's path.
  bin: [],
}

/** Folder of src/core → the folders of src/core that it may import from, besides itself. A folder imports only folders listed above it. */
const allowedInCore: Readonly<Record<string, readonly string[]>> = {
  json: [],
  model: ['json'],
  config: ['model'],
  monitoring: ['json'],
  http: ['monitoring'],
  pages: [],
  kafka: ['model', 'config'],
  elasticsearch: ['json', 'model', 'config', 'monitoring'],
  redis: ['model', 'config', 'monitoring', 'kafka', 'elasticsearch'],
  engines: ['config', 'monitoring', 'kafka', 'elasticsearch', 'redis'],
  process: ['model', 'config', 'monitoring', 'http', 'kafka', 'redis', 'engines'],
}

const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))

const files = ['src', 'indexer', 'tools', 'bin'].flatMap(filesOf)
const importsOf = (file: string): string[] =>
  specifiersOf(join(root, file))
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative(root, resolve(root, dirname(file), specifier)))

const roomOf = (file: string): string => {
  const [top = '', second = ''] = file.split('/')
  return top === 'src' ? `src/${second}` : top
}
const coreFolderOf = (file: string): string | undefined => /^src\/core\/([^/]+)\//.exec(file)?.[1]
const edges = files.flatMap((file) => importsOf(file).map((imported) => [file, imported] as const))

test('the test finds files and their imports', () => {
  expect(files.length).toBeGreaterThan(60)
  expect(edges.length).toBeGreaterThan(150)
  expect(edges).toContainEqual(['src/core/model/record.ts', 'src/core/json/renderer.ts'])
  expect(edges).toContainEqual(['indexer/generations/generations.ts', 'src/core/elasticsearch/indices.ts'])
  expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(allowed)))
})

test('imports point one way: API, settings area and indexer import the core, tools import these, and nothing that ships imports tools', () => {
  const wrong = edges.filter(([file, imported]) => {
    const [from, to] = [roomOf(file), roomOf(imported)]
    return from !== to && !allowed[from]?.includes(to)
  })
  expect(wrong).toEqual([])
})

test('folders of the core import one way', () => {
  const folders = Object.keys(allowedInCore)
  expect(new Set(files.flatMap((file) => coreFolderOf(file) ?? []))).toEqual(new Set(folders))
  const upward = folders.filter((folder, at) =>
    allowedInCore[folder]?.some((imported) => !folders.slice(0, at).includes(imported)),
  )
  expect(upward).toEqual([])
  const wrong = edges.filter(([file, imported]) => {
    const from = coreFolderOf(file)
    const to = coreFolderOf(imported)
    return from !== undefined && to !== undefined && from !== to && !allowedInCore[from]?.includes(to)
  })
  expect(wrong).toEqual([])
})

test('only src/core/kafka imports KafkaJS', () => {
  const knowing = files.filter(
    (file) => !file.startsWith('tools/') && specifiersOf(join(root, file)).includes('kafkajs'),
  )
  expect(knowing.filter((file) => !file.startsWith('src/core/kafka/'))).toEqual([])
})

test('no file imports itself through others, not even for a type', () => {
  const imports = new Map(files.map((file) => [file, importsOf(file)]))
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' > '))
    if (finished.has(file) || path.includes(file)) return
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file])
    finished.add(file)
  }
  for (const file of files) visit(file, [])
  expect(cycles).toEqual([])
})
