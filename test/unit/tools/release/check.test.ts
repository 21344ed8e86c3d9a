import { readFileSync } from 'node:fs'
import { packageFiles, releaseProblems } from '../../../../tools/release/check.ts'
import { parsePins } from '../../../../tools/release/imagePins.ts'

const textOf = (path: string): string => readFileSync(path, 'utf8')
const { version } = JSON.parse(textOf('package.json')) as { version: string }
const files = {
  version,
  lockedVersion: (JSON.parse(textOf('package-lock.json')) as { version: string }).version,
  changelog: textOf('CHANGELOG.md'),
  dockerfile: textOf('Dockerfile'),
  airbyteDockerfile: textOf('connectors/airbyte/Dockerfile'),
  compose: textOf('docker-compose.yml'),
  pins: parsePins(textOf('deploy/images.env')),
  packages: new Map(packageFiles('.').map((path) => [path, textOf(path)])),
}
/** Problems but those that only a release itself can solve. */
const problemsOf = (changed: Partial<typeof files>): string[] =>
  releaseProblems({ ...files, ...changed }).filter((problem) => !/no section|no digest/.test(problem))

test('the files of the project agree; only what a release itself writes may be missing', () => {
  expect(problemsOf({})).toEqual([])
  expect(textOf('CHANGELOG.md')).toMatch(/^## \[Unreleased\]$/m)
})

test('a release whose version is not that of every client and connector is refused', () => {
  const paths = [...files.packages.keys()]
  expect(paths).toEqual(
    expect.arrayContaining([
      'clients/python/pyproject.toml',
      'clients/typescript/package.json',
      'clients/typescript/package-lock.json',
      ...['airbyte/pyproject.toml', 'dlt/pyproject.toml', 'n8n/package.json'].map((path) => `connectors/${path}`),
    ]),
  )
  const problems = problemsOf({ version: '999.0.0' })
  for (const path of paths) expect(problems).toContain(`${path} has version ${version}, not 999.0.0`)
  // The lock file of the TypeScript client names it twice, the project's own lock file and the Dockerfile once each.
  expect(problems).toHaveLength(paths.length + 3)
})

test.each(packageFiles('.'))('a client or connector whose version was changed in %s alone is refused', (path) => {
  const changed = new Map(files.packages).set(path, textOf(path).replace(`"${version}"`, '"999.0.0"'))
  expect(problemsOf({ packages: changed })).toEqual([`${path} has version 999.0.0, not ${version}`])
})

test('a release that the changelog has no section for, or that pins an image that no file uses, is refused', () => {
  expect(releaseProblems({ ...files, version: '999.0.0' })).toContain(
    'CHANGELOG.md has no section "## [999.0.0] - <date>"',
  )
  const airbyteDockerfile = files.airbyteDockerfile.replace('python:3.13', 'python:3.14')
  expect(problemsOf({ airbyteDockerfile })).toEqual([expect.stringMatching(/^PYTHON_IMAGE is python:3\.13/)])
})
