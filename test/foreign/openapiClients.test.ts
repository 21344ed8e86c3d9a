import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findOnPath } from '../../tools/engines/permissions.ts'
import { useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { temporaryFolder } from '../support/temporaryFolder.ts'
import { describeWith } from './support/describeWith.ts'
import { type Environment, openGenerators } from './support/generatedClients.ts'
import { describePython, usePython } from './support/python.ts'

const team = 'team-1'
const installDeadlineMs = 15 * 60_000
const compileDeadlineMs = 5 * 60_000

/** Has what generators guess wrongly: numbers that a float or an integer of 32 bits does not hold, and any characters in a code. */
const asked = {
  ...{ id: 'asked', serialNumber: 5_000_000_017, submittedAt: '2026-04-01T13:00:00.250Z' },
  data: { 'q:1 <é>': 'a b&c', q2: ['x'] },
  result: { status: 'completed', score: 80.1 },
}
const emptyMembers = { examinee: null, metadata: null, data: null, reportResult: null }
const others = Array.from({ length: 21 }, (_, at) => `other-${at}`)
const pending = others.map((id) => ({ ...emptyMembers, id, result: { status: 'pending', score: null } }))

const api = useApi({
  forms: [{ team, id: 'form-1', entity: formEntity({ id: 'form-1' }) }],
  submissions: [asked, ...pending].map((each) => ({ team, id: each.id, entity: submissionEntity(each) })),
  watermark: '2026-04-01T14:00:00.000Z',
})

/** What the programs in `test/foreign` ask: a page, a filter by answers, `fields`, a count, and single items. */
const expected = {
  total: 22,
  page: [
    ['asked', 'ada@example.com', 80.1],
    ...others
      .toSorted()
      .toReversed()
      .map((id) => [id, null, null]),
  ],
  filtered: [['asked', ['x']]],
  selected: [[null, 80.1]],
  counts: [
    [['2026-04-01T00:00:00.000+00:00', 'pending'], 21],
    [['2026-04-01T00:00:00.000+00:00', 'completed'], 1],
  ],
  record: [5_000_000_017, '2026-04-01T13:00:00.250Z', [{ name: 'accuracy', value: 0.8 }]],
  form: [
    ...['Product Knowledge Quiz', 'knowledge_quiz', [{ code: 'q1', type: 'single_choice' }, { type: 'page_break' }]],
    { de_DE: { title: 'Produktwissen' } },
  ],
}

/** Expects the lines that clients have printed to be the right answers. */
function expectAnswers(said: string, clients: readonly string[]): void {
  const lines = said.split('\n').filter((line) => line.startsWith('{'))
  const answers = lines.map((line) => JSON.parse(line) as object)
  expect(answers).toEqual(clients.map((client) => ({ client, ...expected })))
}

const isThere = async (program: string): Promise<boolean> => (await findOnPath(program, process.env)) !== undefined
const [hasMaven, hasGo] = [await isThere('mvn'), await isThere('go')]

describeWith('maven', hasMaven)('a client gets the right answers that is generated from the description', () => {
  let folder = ''
  let generators: Awaited<ReturnType<typeof openGenerators>>
  let env: Environment
  beforeAll(async () => {
    folder = await temporaryFolder('tidemark-clients-')
    env = { BASE_URL: `http://127.0.0.1:${api.port}/api/v1`, KEY: api.key }
    generators = await openGenerators(folder, (await api.send('/api/v1/openapi.json')).text)
    const { prepareGo, prepareTypescript, generateByOpenapiGenerator } = generators
    await Promise.all([prepareTypescript(), generateByOpenapiGenerator(), ...(hasGo ? [prepareGo()] : [])])
  }, installDeadlineMs)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('Spectral finds nothing in the description', async () => {
    expect(await generators.lint()).toContain('No results')
  })

  test(
    'a generated client works in Java: openapi-generator',
    async () => expectAnswers(await generators.askInJava(env), ['openapi-generator java']),
    compileDeadlineMs,
  )

  test(
    'generated clients work in TypeScript: openapi-generator, hey-api and orval',
    async () => {
      const clients = ['openapi-generator typescript-fetch', 'hey-api', 'orval']
      expectAnswers(await generators.askInTypescript(env), clients)
    },
    compileDeadlineMs,
  )

  describeWith('go', hasGo)('in Go', () => {
    test(
      'generated clients work: openapi-generator and oapi-codegen',
      async () => expectAnswers(await generators.askInGo(env), ['openapi-generator go', 'oapi-codegen']),
      compileDeadlineMs,
    )
  })

  describePython('in Python', () => {
    const python = usePython('clients')

    test('a generated client works: openapi-generator', async () => {
      const path = { PYTHONPATH: generators.pythonClient }
      const said = await python.runScript('test/foreign/python/ask_with_openapi_generator.py', [], { ...env, ...path })
      expectAnswers(said, ['openapi-generator python'])
    })

    test('a generated client works: openapi-python-client', async () => {
      const clients = join(folder, 'python-client')
      await mkdir(clients)
      const config = join(clients, 'config.json')
      await writeFile(config, JSON.stringify({ post_hooks: [], package_name_override: 'python_client' }))
      const output = ['--meta', 'none', '--output-path', join(clients, 'python_client')]
      const how = ['--path', generators.spec, '--config', config, '--fail-on-warning']
      await python.run('openapi-python-client', ['generate', ...how, ...output])
      const script = 'test/foreign/python/ask_with_openapi_python_client.py'
      const said = await python.runScript(script, [], { ...env, PYTHONPATH: clients })
      expectAnswers(said, ['openapi-python-client'])
    })
  })
})
