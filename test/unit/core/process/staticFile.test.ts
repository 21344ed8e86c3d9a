import { readAssets } from '../../../../src/core/process/staticFile.ts'

test('what every page loads is there, under paths that name its content', () => {
  const settings = new URL('../../../../src/settings/assets/', import.meta.url)
  const status = new URL('../../../../indexer/status/assets/', import.meta.url)
  const { paths, files } = readAssets(settings, 'settings')
  expect(
    files
      .values()
      .map(({ type }) => type)
      .toArray(),
  ).toEqual(['css', 'js', 'svg'])
  expect(String(files.get(paths.style)?.bytes)).toContain(':root')
  expect(paths.style).toMatch(/^\/assets\/[\w-]{16}\.css$/)
  expect(readAssets(status, 'status').paths.style).not.toBe(paths.style)
})
