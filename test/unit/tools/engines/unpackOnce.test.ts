import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackOnce } from '../../../../tools/engines/unpackOnce.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unpackOnce-'))
})
afterEach(() => rm(folder, { recursive: true }))

const noProcess = 2 ** 22 + 1
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
  expect(await readdir(folder)).toEqual(['tool-1'])
})

test('a failure leaves nothing and can be tried again', async () => {
  const failing = unpackOnce(folder, 'tool-1', async (draft) => {
    await unpackAs('half')(draft)
    throw new Error('disk full')
  })
  await expect(failing).rejects.toThrow('disk full')
  expect(await readdir(folder)).toEqual([])
  await unpackOnce(folder, 'tool-1', unpackAs('whole'))
  expect(await readFile(join(folder, 'tool-1', 'version'), 'utf8')).toBe('whole')
})

test('the draft of a killed process is removed; one of an earlier process with this pid does no harm', async () => {
  const [abandoned, earlier] = [noProcess, process.pid].map((pid) => `.unpacking-${pid}-tool-1`)
  await Promise.all([abandoned, earlier].map((name) => mkdir(join(folder, String(name)))))
  await unpackOnce(folder, 'tool-1', unpackAs('whole'))
  expect((await readdir(folder)).sort()).toEqual([earlier, 'tool-1'])
})
