import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf } from '../support/faults.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'

const deadlineMs = 120_000
const { tools, pipeline, api } = usePythonPipeline()
beforeAll(() => pipeline.createKeys(['acme']))

type Change = { readonly topic: string; readonly key: string; readonly value: object | null }

const nameOf = (topic: 'FORMS' | 'SUBMISSIONS'): string => pipeline.names[`TOPIC_${topic}`] ?? ''
const formChange = (id: string, revision: number, title: string): Change => ({
  topic: nameOf('FORMS'),
  key: `acme/${id}`,
  value: { revision, form: formEntity({ id, title }) },
})
const submissionChange = (id: string, formId: string): Change => ({
  topic: nameOf('SUBMISSIONS'),
  key: `acme/${id}`,
  value: { revision: 1, submission: submissionEntity({ id, formId }) },
})
const deletion = (id: string): Change => ({ topic: nameOf('FORMS'), key: `acme/${id}`, value: null })

/** Transactions: both topics, a change and an older one that comes late, a deletion and a change that comes after it. */
const transactions = (name: string): Change[][] => [
  [
    formChange(`${name}-kept`, 1, 'First'),
    formChange(`${name}-gone`, 1, 'Gone'),
    submissionChange(`${name}-s1`, `${name}-kept`),
  ],
  [formChange(`${name}-kept`, 3, 'Zwölf ✓'), formChange(`${name}-kept`, 2, 'Second'), deletion(`${name}-gone`)],
  [formChange(`${name}-gone`, 2, 'Back'), formChange(`${name}-last`, 1, 'Last')],
]
const linesOf = (all: readonly Change[][]): string => all.map((changes) => `${JSON.stringify(changes)}\n`).join('')

async function runTypeScript(lines: string, id: string): Promise<void> {
  const args = [resolve('docs/producers/produceChanges.ts'), process.env['KAFKA_BROKERS'] ?? '', id]
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: deadlineMs,
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  child.stdin.end(lines)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the example ended with ${code}: ${said}`)
}

async function runPython(lines: string, id: string): Promise<void> {
  const [input, script] = [join(tools.folder, 'changes.ndjson'), resolve('docs/producers/produce_changes.py')]
  await writeFile(input, lines)
  const redirected = `import runpy, sys; sys.stdin = open(sys.argv.pop(1), encoding='utf-8'); runpy.run_path(sys.argv.pop(1), run_name='__main__')`
  await tools.run('python', ['-c', redirected, input, script, process.env['KAFKA_BROKERS'] ?? '', id])
}

describePython('The examples of producers', () => {
  test.each([
    ['TypeScript', runTypeScript],
    ['Python', runPython],
  ])(
    'what the example in %s appends is served: the highest revision, and nothing that was deleted',
    async (name, run) => {
      await run(linesOf(transactions(name)), `${pipeline.names['INDEX_PREFIX']}-${name}`)
      const statusOf = async (path: string): Promise<number> =>
        (await pipeline.get(api, 'acme', `/api/v1/${path}`)).status
      await eventually(async () => (await statusOf(`forms/${name}-last`)) === 200)
      await eventually(async () => (await statusOf(`records/${name}-s1`)) === 200)
      await eventually(async () => {
        const { body } = await pipeline.get(api, 'acme', `/api/v1/forms/${name}-kept`)
        return (body as { title: string }).title === 'Zwölf ✓'
      })
      await eventually(async () => (await statusOf(`forms/${name}-gone`)) === 404)
    },
  )

  test('both examples and the tests send an entity to the same partition', async () => {
    // A single entity could share a partition by chance.
    const ids = Array.from({ length: 20 }, (_, at) => `same-${at}`)
    const changes = (revision: number): Change[] => ids.map((id) => formChange(id, revision, 'a'))
    await runTypeScript(linesOf([changes(1)]), `${pipeline.names['INDEX_PREFIX']}-same-1`)
    await runPython(linesOf([changes(2)]), `${pipeline.names['INDEX_PREFIX']}-same-2`)
    await pipeline.produce(
      'forms',
      changes(3).map(({ key, value }) => ({ key, value: JSON.stringify(value) })),
    )
    const keys = ids.map((id) => `acme/${id}`)
    const records = await recordsOf(pipeline.kafka, nameOf('FORMS'), keys)
    for (const key of keys) {
      const own = records.filter((record) => record.key?.toString() === key)
      expect(own.map(({ value }) => (JSON.parse(String(value)) as { revision: number }).revision)).toEqual([1, 2, 3])
      expect(new Set(own.map(({ partition }) => partition)).size).toBe(1)
    }
  })
})
