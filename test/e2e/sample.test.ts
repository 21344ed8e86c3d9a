import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Run, runCommand } from '../support/programs.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const baseUrl = 'http://127.0.0.1:3999/api/v1'

const pipeline = usePipeline({ forEachTest: true })
const folder = useFolder()
beforeEach(() => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi(), { forEachTest: true })

const keysPath = (): string => join(folder, 'keys.json')
const load = (): Promise<Run> =>
  runCommand('sample', ['--api', `${api.url}/api/v1`, '--keys', keysPath()], { ...pipeline.names, BASE_URL: baseUrl })
const page = ({ stdout }: Run): string => stdout.slice(stdout.indexOf('Base URL'))
const keysIn = (run: Run): string[] => [...page(run).matchAll(/^Key {7}(\S+)/gm)].map(([, key = '']) => key)
const totalOf = async (list: string, key: string): Promise<number> => {
  const response = await fetch(`${api.url}/api/v1/${list}`, { headers: { authorization: `Bearer ${key}` } })
  return ((await response.json()) as { totalDocs: number }).totalDocs
}

test('the sample can be loaded repeatedly: it is there once, under the same keys, and a deleted key is replaced', async () => {
  const first = await load()
  expect(first).toMatchObject({ code: 0, stderr: '' })
  const keys = keysIn(first)
  const [key = '', ...others] = keys
  expect(others.length).toBe(2)
  expect(page(first)).toContain(`Base URL  ${baseUrl}\n`)
  expect(page(first)).toContain(`curl -s -H "Authorization: Bearer ${key}" "${baseUrl}/records?limit=2"`)
  const totals = (): Promise<number[]> => Promise.all(keys.map((each) => totalOf('records', each)))
  const loaded = await totals()
  expect(loaded.reduce((sum, total) => sum + total, 0)).toBe(5_000)
  expect(await totalOf('forms?titleContains=data%20protecion', key)).toBeGreaterThan(0)
  expect((await stat(keysPath())).mode & 0o777).toBe(0o600)

  const second = await load()
  expect(second.code).toBe(0)
  expect(page(second)).toBe(page(first))
  expect(await totals()).toEqual(loaded)

  const args = ['--team', 'team_harborlight']
  const listed = await runCommand('keys', ['list', ...args], pipeline.names)
  const id = /key_\S+/.exec(listed.stdout)?.[0] ?? ''
  expect(await runCommand('keys', ['delete', ...args, '--id', id], pipeline.names)).toMatchObject({ code: 0 })
  const [replaced = '', ...kept] = keysIn(await load())
  expect(kept).toEqual(others)
  expect(replaced).not.toBe(key)
  expect(await totalOf('records', replaced)).toBe(loaded[0])
})
