import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackOnce } from '../../../../tools/engines/unpackOnce.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unpackOnce-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** What is there but for the lock. */
const shown = async (): Promise<string[]> => (await readdir(folder)).filter((name) => !name.endsWith('.sqlite'))
const unpackAs =
  (content: string) =>
  async (draft: string): Promise<string> => {
    await mkdir(join(draft, 'tool'))
    await writeFile(join(draft, 'tool', 'version'), content)
    return join(draft, 'tool')
  }

test('the folder appears whole and stays, however many make it at once', async () => {
  const homes = await Promise.all(['1', '2', '3'].map((content) => unpackOnce(folder, 'tool-1', unpackAs(content))))
  expect(new Set(homes)).toEqual(new Set([join(folder, 'tool-1')]))
  const made = await readFile(join(folder, 'tool-1', 'version'), 'utf8')
  await unpackOnce(folder, 'tool-1', () => Promise.reject(new Error('is there already')))
  expect(await readFile(join(folder, 'tool-1', 'version'), 'utf8')).toBe(made)
  expect(await shown()).toEqual(['tool-1'])
})

test('a failure leaves nothing and can be tried again', async () => {
  const failing = unpackOnce(folder, 'tool-1', async (draft) => {
    await unpackAs('half')(draft)
    throw new Error('disk full')
  })
  await expect(failing).rejects.toThrow('disk full')
  expect(await shown()).toEqual([])
  await unpackOnce(folder, 'tool-1', unpackAs('whole'))
  expect(await readFile(join(folder, 'tool-1', 'version'), 'utf8')).toBe('whole')
})

test('the draft of a killed process does no harm', async () => {
  await mkdir(join(folder, '.unpacking-tool-1', 'tool'), { recursive: true })
  await unpackOnce(folder, 'tool-1', unpackAs('whole'))
  expect(await shown()).toEqual(['tool-1'])
})
