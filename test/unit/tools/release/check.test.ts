import { readFileSync } from 'node:fs'
import { releaseProblems } from '../../../../tools/release/check.ts'
import { parsePins } from '../../../../tools/release/imagePins.ts'

const digest = `sha256:${'a'.repeat(64)}`
const ready = {
  version: '1.2.3',
  lockedVersion: '1.2.3',
  changelog: '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2027-01-31\n\n- More.\n',
  dockerfile: `ARG NODE_IMAGE=node:24\nARG VERSION=1.2.3\n`,
  compose: 'args:\n  NODE_IMAGE: $' + '{NODE_IMAGE:-node:24}\n',
  pins: parsePins(`NODE_IMAGE=node:24@${digest}\n`),
}

test('nothing is missing when all files agree', () => {
  expect(releaseProblems(ready)).toEqual([])
})

test.each<[string, Partial<typeof ready>, RegExp]>([
  ['a lock file of another version', { lockedVersion: '1.2.2' }, /package-lock\.json has version 1\.2\.2/],
  [
    'an image of another version',
    { dockerfile: 'ARG NODE_IMAGE=node:24\nARG VERSION=1.2.30\n' },
    /Dockerfile's VERSION/,
  ],
  ['a version without a section', { changelog: '## [1.2.4] - 2027-01-31\n' }, /CHANGELOG\.md has no section/],
  ['a section without a date', { changelog: '## [1.2.3]\n' }, /CHANGELOG\.md has no section/],
  [
    'another image by default',
    { compose: '$' + '{NODE_IMAGE:-node:22}' },
    /^NODE_IMAGE is node:24 .* node:22 by default$/,
  ],
  ['an image that is not used', { pins: parsePins(`A_IMAGE=a:1@${digest}\n`) }, /^A_IMAGE .* is used nowhere$/],
  ['an image without a digest', { pins: parsePins('NODE_IMAGE=node:24\n') }, /no digest for NODE_IMAGE/],
])('%s is named', (_, change, problem) => {
  expect(releaseProblems({ ...ready, ...change })).toEqual([expect.stringMatching(problem)])
})

test('the files of the project agree; only what a release itself writes may be missing', () => {
  const textOf = (path: string): string => readFileSync(path, 'utf8')
  const { version } = JSON.parse(textOf('package.json')) as { version: string }
  const problems = releaseProblems({
    version,
    lockedVersion: (JSON.parse(textOf('package-lock.json')) as { version: string }).version,
    changelog: textOf('CHANGELOG.md'),
    dockerfile: textOf('Dockerfile'),
    compose: textOf('docker-compose.yml'),
    pins: parsePins(textOf('deploy/images.env')),
  })
  expect(problems.filter((problem) => !/no section|no digest/.test(problem))).toEqual([])
  expect(textOf('CHANGELOG.md')).toMatch(/^## \[Unreleased\]$/m)
})
