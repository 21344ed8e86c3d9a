import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { browserProgram } from '../../support/browserProgram.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'browserProgram-'))
})
afterAll(() => rm(folder, { recursive: true }))

const bare = { platform: 'linux', arch: 'arm64', env: { PATH: '/nowhere' } } as const

test('an installed browser is taken', async () => {
  const installed = join(folder, 'chromium')
  await writeFile(installed, '', { mode: 0o755 })
  const found = await browserProgram({ ...bare, env: { PATH: `/nowhere:${folder}` } })
  expect(found).toEqual({ executablePath: installed, env: {} })
})

test('where none is installed and npm brings none, the error says what to install', async () => {
  const expected = /no chromium or google-chrome on PATH.* linux-x64 alone, not linux-arm64\..*apt-get install chromium/
  await expect(browserProgram(bare)).rejects.toThrow(expected)
})
