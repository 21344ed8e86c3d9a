import { asset, readBaseCss, readIcon } from '../../../../src/core/process/assets/assets.ts'

test('what every page loads is there, under a path that names its content', () => {
  const style = asset('css', readBaseCss())
  expect(style.text).toContain(':root')
  expect(style.path).toMatch(/^\/assets\/[\w-]{16}\.css$/)
  expect(asset('css', readBaseCss(), 'p {}').path).not.toBe(style.path)
  expect(readIcon().text).toContain('<svg')
})
