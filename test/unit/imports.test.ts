import { readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loading, specifiersOf } from '../support/imports.ts'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** Room → the rooms it may import from, besides itself. */
const allowed: Record<string, readonly string[]> = {
  'src/core/model': [],
  'src/config': ['src/core/model'],
  'src/log': [],
  'src/health': ['src/log'],
  'src/adminServer': ['src/server', 'src/unreadable'],
  'src/processMetrics': ['src/health'],
  'src/requestMetrics': ['src/requestLog'],
  'src/core/process/assets': ['src/publicFile'],
  'src/service': [
    'src/core/model',
    'src/config',
    'src/log',
    'src/core/stores',
    'src/health',
    'src/adminServer',
    'src/processMetrics',
    'src/server',
  ],
  'src/healthCommand': [],
  'src/progressBar': [],
  'src/ifNoneMatch': [],
  'src/publicFile': ['src/ifNoneMatch'],
  'src/requestLog': [],
  'src/resettingServer': [],
  'src/unreadable': [],
  'src/server': ['src/resettingServer', 'src/unreadable'],
  'src/core/stores': ['src/core/model', 'src/config', 'src/log', 'src/health'],
  'src/api/search': ['src/core/model', 'src/core/stores'],
  'src/api': [
    'src/core/model',
    'src/config',
    'src/service',
    'src/server',
    'src/resettingServer',
    'src/unreadable',
    'src/ifNoneMatch',
    'src/publicFile',
    'src/requestLog',
    'src/requestMetrics',
    'src/core/stores',
    'src/api/search',
  ],
  'src/main': ['src/service', 'src/api'],
  indexer: [
    'src/core/model',
    'src/config',
    'src/log',
    'src/health',
    'src/adminServer',
    'src/service',
    'src/progressBar',
    'src/core/process/assets',
    'src/core/stores',
  ],
  settings: [
    'src/core/model',
    'src/config',
    'src/service',
    'src/server',
    'src/unreadable',
    'src/publicFile',
    'src/requestLog',
    'src/requestMetrics',
    'src/core/process/assets',
    'src/core/stores',
  ],
  engines: [],
  demo: ['src/core/model', 'src/config', 'src/service', 'src/progressBar', 'src/core/stores', 'settings', 'engines'],
  bench: [
    'src/core/model',
    'src/config',
    'src/service',
    'src/progressBar',
    'src/core/stores',
    'src/api/search',
    'engines',
    'demo',
    'indexer',
  ],
}

const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))

const files = ['src', 'indexer', 'settings', 'engines', 'demo', 'bench'].flatMap(filesOf)
const importsOf = (file: string, kept?: RegExp): string[] =>
  specifiersOf(join(root, file), kept)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative(root, resolve(root, dirname(file), specifier)))

const roomOf = (file: string): string => {
  const [top = '', second = ''] = file.split('/')
  return top === 'src' ? `src/${second.replace(/\.ts$/, '')}` : top
}
const edges = files.flatMap((file) => importsOf(file).map((imported) => [file, imported] as const))

test('the files and their imports are seen', () => {
  expect(files.length).toBeGreaterThan(60)
  expect(edges.length).toBeGreaterThan(150)
  expect(edges).toContainEqual(['src/core/model/change.ts', 'src/core/json/rawJson.ts'])
  expect(edges).toContainEqual(['indexer/generations/generations.ts', 'src/core/stores/indices.ts'])
  expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(allowed)))
})

test('imports point one way: domain, replica, queries, http; the indexer and the settings area never the API', () => {
  const wrong = edges.filter(([file, imported]) => {
    const [from, to] = [roomOf(file), roomOf(imported)]
    return from !== to && !allowed[from]?.includes(to)
  })
  expect(wrong).toEqual([])
})

test('no file loads itself by way of others; types alone load nothing', () => {
  const loaded = new Map(files.map((file) => [file, importsOf(file, loading)]))
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' > '))
    if (finished.has(file) || path.includes(file)) return
    for (const imported of loaded.get(file) ?? []) visit(imported, [...path, file])
    finished.add(file)
  }
  for (const file of files) visit(file, [])
  expect(cycles).toEqual([])
})
