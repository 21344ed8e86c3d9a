import { resolve } from 'node:path'
import { answerSchemas, exampleOf } from '../../src/api/openapi/schemas.ts'
import { startTestApi, type TestApi, useReplica } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { describePython, usePython } from './support/python.ts'

const team = 'team-1'
/** Random requests per endpoint, besides those derived from the description's rules and examples. */
const examples = process.env['SCHEMATHESIS_EXAMPLES'] ?? '20'
/** Varies the random requests; without a seed, every run sends the same. */
const seed = process.env['SCHEMATHESIS_SEED']
/** Real duration of a minute for requests with `Prefer: wait`. */
const minuteMs = 500
const deadlineMs = 120_000 + Number(examples) * 5_000

const exampleId = (answer: 'Form' | 'Submission'): string => (exampleOf(answerSchemas[answer]) as { id: string }).id
const exampleIds = { form: exampleId('Form'), submission: exampleId('Submission') }
const idsOf = (kind: string): string[] => Array.from({ length: 30 }, (_, at) => `${kind}-${at}`)

/** The replica contains the entities named in the description's examples. */
const stored = useReplica({
  forms: [exampleIds.form, ...idsOf('form')].map((id) => ({ team, id, entity: formEntity({ id }) })),
  submissions: [exampleIds.submission, ...idsOf('record')].map((id) => {
    return { team, id, entity: submissionEntity({ id, formId: exampleIds.form }) }
  }),
  watermark: '2026-04-02T00:00:00.000Z',
})
const tools = usePython()

const startApi = (settings: Readonly<Record<string, string>>, awaitReady: boolean): Promise<TestApi> =>
  startTestApi({
    settings: { INDEX_PREFIX: stored.replica.prefix, RATE_LIMIT_PER_MINUTE: '10000000', ...settings },
    awaitReady,
    elapsedMs: () => (performance.now() * 60_000) / minuteMs,
  })

/** Tests the API with requests that Schemathesis generates from the description; rejects with the failures that it reports. */
async function judge(api: TestApi, config: string, args: readonly string[]): Promise<void> {
  try {
    const how = seed === undefined ? ['--generation-deterministic'] : ['--seed', seed, '--generation-database', 'none']
    const said = await tools.run(
      'schemathesis',
      [
        ...['--config-file', resolve('test/foreign/python', config)],
        ...['run', `http://127.0.0.1:${api.port}/api/v1/openapi.json`, '--checks', 'all', '--no-color'],
        ...['--header', `Authorization: Bearer ${stored.key}`, '--max-examples', examples, ...how, ...args],
      ],
      { SCHEMATHESIS_HOOKS: resolve('test/foreign/python/schemathesis_hooks.py') },
      deadlineMs,
    )
    expect(said).toContain('Tested: 7')
    expect(said).toContain('No issues found')
  } finally {
    await api.close()
  }
}

/** The endpoints that have answered with this status. */
const answering = ({ logLines }: TestApi, wanted: number): unknown[] =>
  [...new Set(logLines.filter(({ status }) => status === wanted).map(({ route }) => route))].sort()

const feeds = ['/form-changes', '/record-changes']
const paths = ['/forms', '/forms/:id', '/record-counts', '/records', '/records/:id']
const routesOf = (some: readonly string[]) => some.map((path) => `/api/v1${path}`)
const endpoints = routesOf([...feeds, ...paths].sort())

describePython('Schemathesis', () => {
  test(
    'every answer to a generated request matches the OpenAPI description',
    async () => {
      const api = await startApi({}, true)
      await judge(api, 'schemathesis.toml', [])
      expect(answering(api, 200)).toEqual(expect.arrayContaining(endpoints))
    },
    deadlineMs,
  )

  test(
    'every answer to a request with If-None-Match: * matches the OpenAPI description',
    async () => {
      const api = await startApi({}, true)
      // Schemathesis may never generate `*` or a current ETag for If-None-Match.
      await judge(api, 'schemathesisUnchanged.toml', ['--phases', 'coverage'])
      // A change feed has no ETag.
      expect(answering(api, 304)).toEqual(expect.arrayContaining(routesOf(paths)))
    },
    deadlineMs,
  )

  describe('every answer matches the OpenAPI description while an engine is unreachable:', () => {
    const config = 'schemathesisOutage.toml'
    const phases = ['--phases', 'coverage']

    test(
      'Elasticsearch',
      async () => {
        const api = await startApi({ ELASTICSEARCH_URL: 'http://127.0.0.1:1' }, false)
        await judge(api, config, phases)
        expect(answering(api, 503)).toEqual(endpoints)
      },
      deadlineMs,
    )

    test(
      'Redis',
      async () => {
        const api = await startApi({ REDIS_URL: 'redis://127.0.0.1:1' }, false)
        // The key is judged before all else, and no key can be judged: whatever is sent is 503, which few requests show.
        await judge(api, config, ['--phases', 'examples', '--exclude-checks', 'unsupported_method'])
        expect(answering(api, 503)).toEqual([undefined])
      },
      deadlineMs,
    )
  })
})
