import { readFileSync } from 'node:fs'
import { releaseProblems } from '../../../../tools/release/check.ts'
import { parsePins } from '../../../../tools/release/imagePins.ts'

test('the versions in all files agree, except those that a release writes itself', () => {
  const textOf = (path: string): string => readFileSync(path, 'utf8')
  const { version } = JSON.parse(textOf('package.json')) as { version: string }
  const files = {
    version,
    lockedVersion: (JSON.parse(textOf('package-lock.json')) as { version: string }).version,
    changelog: textOf('CHANGELOG.md'),
    dockerfile: textOf('Dockerfile'),
    compose: textOf('docker-compose.yml'),
    pins: parsePins(textOf('deploy/images.env')),
  }
  const isOpen = (problem: string): boolean => !/no section|no digest/.test(problem)
  expect(releaseProblems(files).filter(isOpen)).toEqual([])
  expect(releaseProblems({ ...files, version: '999.0.0' }).filter(isOpen)).toHaveLength(2)
  expect(textOf('CHANGELOG.md')).toMatch(/^## \[Unreleased\]$/m)
})
