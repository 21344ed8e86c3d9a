import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .trim()
  .split('\n')
const pages = tracked.filter((file) => file.endsWith('.md') && !file.startsWith('tools/bench/results/'))
const folders = new Set(tracked.flatMap((file) => (file.includes('/') ? [file.split('/')[0]] : [])))
const names = new Set(tracked.map((file) => basename(file)))
/** What a page names in code and does not exist: a path from the top, or the name of a source file. */
function missingIn(page: string): string[] {
  const text = readFileSync(page, 'utf8')
  const inCode = [...text.matchAll(/`([^`\s]+)`/g)].map(([, code = '']) => code)
  const paths = inCode.filter((code) => /^[\w.-]+\/[\w./-]+$/.test(code) && folders.has(code.split('/')[0]))
  const files = inCode.filter((code) => /^[\w-]+\.(?:ts|mjs|cjs|py|sql|css|js)$/.test(code))
  const linked = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map(([, path = '']) =>
    normalize(join(dirname(page), path)),
  )
  return [...[...paths, ...linked].filter((path) => !existsSync(path)), ...files.filter((file) => !names.has(file))]
}

/** The headings of a page, as GitHub makes anchors of them. */
const anchorsOf = (page: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

test('the test finds pages, their paths and folders', () => {
  expect(pages.length).toBeGreaterThan(40)
  expect(folders).toContain('indexer')
  expect(names).toContain('offsetTracker.ts')
})

test.each(pages.filter((page) => page !== 'CHANGELOG.md'))('every file that %s names or links to exists', (page) => {
  expect(missingIn(page)).toEqual([])
})

test.each(pages)('every section that %s links to exists', (page) => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)]
  const missing = links.filter(([, path = '', anchor = '']) => {
    const target = path === '' ? page : normalize(join(dirname(page), path))
    return target.endsWith('.md') && !anchorsOf(target).includes(anchor)
  })
  expect(missing.map(([link]) => link)).toEqual([])
})
