import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual, promisify } from 'node:util'
import { describeApi } from '../../src/api/openapi/openapi.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { seeded } from '../support/random.ts'
import { fold, type Json, randomHistory } from '../support/randomHistory.ts'
import { servedForm, servedSubmission } from '../support/served.ts'
import { startUnreliableProxy } from '../support/unreliableProxy.ts'
import { describePython } from './support/python.ts'
import { useClientPackage } from './support/pythonClientPackage.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { jsonLines, listAfter, manyDigitsRecord } from './support/warehouse.ts'

const team = 'acme'
const deadlineMs = 120_000
const folder = resolve('clients/python')
const example = join(folder, 'examples/copy_to_sqlite.py')
const program = resolve('test/foreign/python/use_tidemark_client.py')

const random = seeded(62)
const history = randomHistory(62, 2_100)
const first = history.records.slice(0, 900)
const rounds = 20
const { tools, pipeline, api } = usePythonPipeline('clients')
const client = useClientPackage(tools)
const proxy = useStarted('the proxy', () => startUnreliableProxy(() => api.url, random))

describePython('The Python client', () => {
  beforeAll(async () => {
    await pipeline.createKeys(history.teams)
    await pipeline.produceHistory(first)
    await pipeline.untilApplied(api, team)
  })

  test('its types are those of the description', async () => {
    const [description, made] = [join(tools.folder, 'openapi.json'), join(tools.folder, 'models.py')]
    await writeFile(description, JSON.stringify(describeApi('/api/v1')))
    const options = `
      import os, sys
      from datamodel_code_generator.__main__ import main
      os.chdir(sys.argv[1])
      sys.exit(main(sys.argv[2:]))`
    const run = ['-c', options.replaceAll('\n      ', '\n'), folder, '--input', description, '--output', made]
    await tools.run('python', run)
    const committed = await readFile(join(folder, 'src/tidemark_client/models.py'), 'utf8')
    expect(committed).toBe(await readFile(made, 'utf8'))
  })

  test('it has every filter of the description', async () => {
    const print = `import json, tidemark_client as client
print(json.dumps([list(each.__annotations__) for each in (client.FormFilters, client.RecordFilters)]))`
    const { stdout } = await promisify(execFile)(client.python, ['-c', print], { timeout: deadlineMs })
    const { paths } = describeApi('/api/v1')
    const others = ['limit', 'page', 'view', 'fields', 'If-None-Match']
    const described = ['/forms', '/records'].map((path) =>
      paths[path]?.get.parameters.map(({ name }) => name).filter((name) => !others.includes(name)),
    )
    expect((JSON.parse(stdout) as string[][]).map((names) => names.map(camelCase))).toEqual(described)
  })

  test('mypy and ruff find no problem in it, nor in programs that use it', async () => {
    const strictly = ['--strict', '--python-executable', client.python, '--cache-dir', join(tools.folder, 'mypy')]
    await tools.run('mypy', [...strictly, '--package', 'tidemark_client'])
    await tools.run('mypy', [...strictly, '--python-version', '3.10', '--package', 'tidemark_client'])
    await tools.run('mypy', [...strictly, example, program])
    await tools.run('ruff', ['check', '--no-cache', folder])
    await tools.run('ruff', ['format', '--no-cache', '--check', folder])
  })

  test('it retries transient failures, and accepts no malformed answer', async () => {
    const tests = ['-m', 'pytest', '--quiet', '--rootdir', folder, '--config-file', join(folder, 'pyproject.toml')]
    const said = await tools.run('python', [...tests, join(folder, 'tests')], { PYTHONPATH: client.site })
    expect(said).toMatch(/ passed in /)
  })

  test('a program that uses every function gets the right answers', async () => {
    const env = { TIDEMARK_URL: `${api.url}/api/v1`, TIDEMARK_KEY: pipeline.keyOf(team) }
    const options = { env: { ...process.env, ...env }, timeout: deadlineMs }
    const { stdout } = await promisify(execFile)(client.python, [program], options)
    const said = JSON.parse(stdout) as Json

    const [records, forms] = (['records', 'forms'] as const).map((list) => listAfter(first, list, team))
    const whole = (topic: 'forms' | 'submissions', served: (entity: Json) => Json): Json[] =>
      byId(ofTeam(fold(first, topic)).map(served))
    const [wholeForms, wholeRecords] = [whole('forms', servedForm), whole('submissions', servedSubmission)]
    const ids = records?.map(({ id }) => id)
    const completed = records?.filter(({ result, data }) => result.status === 'completed' && data !== null)
    expect(byId(said.records).map(withoutChange)).toEqual(records)
    const few = wholeForms.map(({ id, title, fields }) => ({ id, title, fields }))
    expect(byId(said.forms).map(withoutChange)).toEqual(few)
    expect(said.latest).toEqual([[], true, false, '', true])
    expect(said.listed.toSorted()).toEqual(ids)
    expect(said.completed.toSorted()).toEqual(
      completed?.filter(({ data, result }) => data.q1?.includes('a') && result.score >= 0).map(({ id }) => id),
    )
    expect(said.knowledge).toBe(forms?.filter(({ scene }) => scene === 'knowledge_quiz').length)
    expect(said.summaries.toSorted()).toEqual(forms?.map(({ id }) => id))
    const byStatus = Object.groupBy(records ?? [], ({ result }) => result.status as string)
    expect(said.counts).toEqual(
      Object.fromEntries(Object.entries(byStatus).map(([status, counted]) => [status, counted?.length])),
    )
    expect(said.byMonth).toBe(byStatus['completed']?.length)
    expect(byId(said.whole)).toEqual(wholeRecords)
    expect(said.after).toEqual([[[], true]])
    const quizzes = forms?.map(({ title }) => title).filter((title) => /quiz/i.test(title))
    expect(said.titles.toSorted()).toEqual(quizzes?.toSorted())
    expect(said.one).toBe(true)
    expect(Object.keys(said.form)).toEqual(['id', 'title'])
    expect(said.errors).toEqual([
      ['NotFoundError', 404, 'not_found', null, true],
      ['BadRequestError', 400, 'bad_request', 'limit', true],
      ['BadRequestError', 400, 'bad_request', 'cursor', true],
      ['UnauthorizedError', 401, 'unauthorized', null, true],
    ])
  })

  test('a copy in SQLite equals the list, although its program is killed at random moments and cursors expire', async () => {
    const copy = join(tools.folder, 'records.db')
    const [TIDEMARK_URL, TIDEMARK_KEY] = [`${proxy.url}/api/v1`, pipeline.keyOf(team)]
    const start = () => {
      const env = { ...process.env, TIDEMARK_URL, TIDEMARK_KEY, COPY: copy }
      return spawn(client.python, [example], { env, stdio: 'ignore' })
    }
    const later = history.records.slice(first.length)
    const size = Math.ceil(later.length / rounds)
    for (let round = 0; round < rounds; round++) {
      const enough = proxy.seen().answers + random.below(6)
      const running = start()
      await pipeline.produceHistory(later.slice(round * size, (round + 1) * size))
      await eventually(() => proxy.seen().answers > enough)
      // At any moment between two answers.
      await sleep(random.below(60))
      await killed(running)
    }
    expect(Math.min(proxy.seen().expired, proxy.seen().cut)).toBeGreaterThan(0)
    await pipeline.produce('submissions', [manyDigitsRecord(team, 'digits')])
    await pipeline.untilApplied(api, team)

    proxy.becomeReliable()
    const running = start()
    const stored = async (): Promise<{ rows: Json[]; digits: string | undefined }> => {
      const lines = (await tools.run('python', ['-c', printRecords, copy])).trim().split('\n')
      const isDigits = (line: string): boolean => line.includes('"id": "digits"')
      const rows = jsonLines(lines.filter((line) => !isDigits(line)).join('\n')).map(withoutChange)
      return { rows: byId(rows), digits: lines.find(isDigits) }
    }
    const expected = {
      rows: listAfter(history.records, 'records', team),
      digits: expect.stringContaining('{"double": 0.7, "long": 12345678901234567890123, "beyond": "1e400"}'),
    }
    await eventually(async () => {
      const { rows, digits } = await stored()
      return digits !== undefined && isDeepStrictEqual(rows, expected.rows)
    }).catch(() => undefined)
    expect(await stored()).toEqual(expected)
    await killed(running)
  })
})

const printRecords = `import sqlite3, sys
for [record] in sqlite3.connect(sys.argv[1], timeout=30).execute("SELECT record FROM records"): print(record)`

async function killed(running: ReturnType<typeof spawn>): Promise<void> {
  const exited = once(running, 'exit')
  running.kill('SIGKILL')
  await exited
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const withoutChange = ({ changedAt: _at, deleted: _isNot, ...row }: Json): Json => row
const byId = (entities: Json[]): Json[] => entities.toSorted((a, b) => (a.id < b.id ? -1 : 1))
const ofTeam = (entities: ReadonlyMap<string, Json>): Json[] =>
  [...entities].filter(([key]) => key.startsWith(`${team}/`)).map(([, entity]) => entity)
