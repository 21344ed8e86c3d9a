import { readFile } from 'node:fs/promises'

test('the program in docs/following.md is the tested one', async () => {
  const page = await readFile('docs/following.md', 'utf8')
  const example = await readFile('clients/python/examples/copy_to_sqlite.py', 'utf8')
  const [, shown] = /```python\n([\s\S]*?)```/.exec(page) ?? []
  expect(shown).toBe(example)
})
