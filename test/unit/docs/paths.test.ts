import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true })
    .map((name) => join('docs', String(name)))
    .filter((name) => name.endsWith('.md')),
  'security/README.md',
]

/** Paths from the top that a page names in code, and files that it links to. */
function pathsIn(page: string): string[] {
  const text = readFileSync(page, 'utf8')
  const named = [...text.matchAll(/`((?:src|indexer|tools|test|mappings|security|deploy|docs)\/[\w./-]+)`/g)].map(
    ([, path = '']) => path,
  )
  const linked = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, path = '']) =>
    normalize(join(dirname(page), path)),
  )
  return [...named, ...linked]
}

test('pages and their paths are found', () => {
  expect(pages.length).toBeGreaterThan(20)
  expect(pages.flatMap(pathsIn).length).toBeGreaterThan(100)
})

test.each(pages)('every file that %s names or links to is there', (page) => {
  expect(pathsIn(page).filter((path) => !existsSync(path))).toEqual([])
})
