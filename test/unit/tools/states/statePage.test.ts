import { readFileSync } from 'node:fs'
import { withTables } from '../../../../tools/states/statePage.ts'

test('docs/generations.md is what `npm run states` writes', () => {
  const page = readFileSync('docs/generations.md', 'utf8')
  expect(page).toBe(withTables(page))
})

test('a page without its marker is refused', () => {
  expect(() => withTables('# Generations\n')).toThrow('the page has not one line')
})
