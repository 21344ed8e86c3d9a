import { resolve } from 'node:path'
import { answerSchemas, exampleOf } from '../../src/api/openapi/schemas.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { useReplica } from '../support/useApi.ts'
import { describePython, usePython } from './support/python.ts'

const team = 'team-1'
/** Requests that are made up for each endpoint, beside those that the description's rules and examples lead to. */
const examples = process.env['SCHEMATHESIS_EXAMPLES'] ?? '20'
/** Makes up other requests; without it they are the same in every run. */
const seed = process.env['SCHEMATHESIS_SEED']
/** Every minute for which a request prefers to wait takes so long. */
const minuteMs = 500
const deadlineMs = 120_000 + Number(examples) * 5_000

const exampleId = (answer: 'Form' | 'Submission'): string => (exampleOf(answerSchemas[answer]) as { id: string }).id
const exampleIds = { form: exampleId('Form'), submission: exampleId('Submission') }
const idsOf = (kind: string): string[] => Array.from({ length: 30 }, (_, at) => `${kind}-${at}`)

/** What the examples in the description name is there. */
const stored = useReplica({
  forms: [exampleIds.form, ...idsOf('form')].map((id) => ({ team, id, entity: formEntity({ id }) })),
  submissions: [exampleIds.submission, ...idsOf('record')].map((id) => ({
    team,
    id,
    entity: submissionEntity({ id, formId: exampleIds.form }),
  })),
  watermark: '2026-04-02T00:00:00.000Z' as Instant,
})
const tools = usePython()

const startApi = (settings: Readonly<Record<string, string>>, awaitReady: boolean): Promise<TestApi> =>
  startTestApi({
    settings: { INDEX_PREFIX: stored.replica.prefix, RATE_LIMIT_PER_MINUTE: '10000000', ...settings },
    awaitReady,
    elapsedMs: () => (performance.now() * 60_000) / minuteMs,
  })

/** Lets Schemathesis make up requests from the description of the API; rejects with what it has to say against an answer. */
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
    expect(said).toContain('Tested: 5')
    expect(said).toContain('No issues found')
  } finally {
    await api.close()
  }
}

/** The endpoints that have given an answer with this status. */
const answering = ({ logLines }: TestApi, wanted: number): unknown[] =>
  [...new Set(logLines.filter(({ status }) => status === wanted).map(({ route }) => route))].sort()

const paths = ['/forms', '/forms/:id', '/record-counts', '/records', '/records/:id']
const endpoints = paths.map((path) => `/api/v1${path}`)

describePython('Schemathesis', () => {
  test(
    'every answer to what Schemathesis makes up from the description is as described',
    async () => {
      const api = await startApi({}, true)
      await judge(api, 'schemathesis.toml', [])
      expect(answering(api, 200)).toEqual(expect.arrayContaining(endpoints))
    },
    deadlineMs,
  )

  test(
    'every answer to a client that holds whatever there is already is as described',
    async () => {
      const api = await startApi({}, true)
      // What Schemathesis makes up for If-None-Match may never be `*`, nor an ETag that stands.
      await judge(api, 'schemathesisUnchanged.toml', ['--phases', 'coverage'])
      expect(answering(api, 304)).toEqual(expect.arrayContaining(endpoints))
    },
    deadlineMs,
  )

  describe('also while an engine is away', () => {
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
