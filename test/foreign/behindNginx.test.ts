import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { errorAnswers } from '../../src/api/errors.ts'
import { maxWaitSeconds } from '../../src/api/waiting.ts'
import { useApi } from '../support/api.ts'
import type { ChangePage } from '../support/changeFeed.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { killPrograms, probe, refusalOf, runCommand } from '../support/programs.ts'
import { queryData } from '../support/queryData.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { describeNginx, shippedFor, startNginx } from './support/nginx.ts'

const team = 'acme'

const api = useApi({ teams: [team], fill: (replica) => queryData(61).storeIn(replica), hasFaultyElasticsearch: true })

const passing = (port: number, directives: string): string =>
  `server { listen 127.0.0.1:${port}; ${directives} location / { proxy_pass http://127.0.0.1:${api.port}; } }`

const asShipped = (port: number): string => shippedFor(port, `server 127.0.0.1:${api.port};`)

describeNginx.each([
  ['with the shipped configuration', asShipped],
  ['with nothing but proxy_pass', (port: number) => passing(port, '')],
  ['without buffers', (port: number) => passing(port, 'proxy_buffering off;')],
  ['with gzip of its own', (port: number) => passing(port, 'gzip on; gzip_proxied any; gzip_types *;')],
  ['that speaks HTTP/1.1', (port: number) => passing(port, 'proxy_http_version 1.1;')],
])('behind nginx %s', (_how, configure) => {
  const nginx = useStarted('nginx', () => startNginx(configure))

  const ask = (from: string, encoding: string): Promise<Response> =>
    fetch(`${from}/api/v1/records`, {
      headers: { authorization: `Bearer ${api.key}`, accept: 'application/x-ndjson', 'accept-encoding': encoding },
    })

  describe('a request that waits for a change', () => {
    beforeAll(() => api.replica.publishWatermark('2026-11-22T10:00:00.000Z'))

    const changes = async (cursor: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${api.key}`, prefer: 'wait=30' }
      const answer = await fetch(`${nginx.url}/api/v1/record-changes?cursor=${cursor}`, { headers, ...init })
      expect(answer.status).toBe(200)
      return { ...((await answer.json()) as ChangePage), applied: answer.headers.get('preference-applied') }
    }
    const wait = async (init?: RequestInit) => changes((await changes('latest')).cursor, init)
    const store = async (id: string, entity: Readonly<Record<string, unknown>> | null): Promise<void> => {
      await api.replica.storeSubmissions({ team, id, entity })
      await api.replica.replaceChangeToken(`submissions/${team}`)
    }

    test('is answered once a change is visible', async () => {
      const answer = wait()
      await api.untilWaiting(1)
      const id = randomUUID()
      await store(id, submissionEntity({ id }))
      expect(await answer).toMatchObject({ applied: 'wait=30', items: [{ id, deleted: false }] })
      await store(id, null)
    })

    test('frees its permit when its client disconnects', async () => {
      const client = new AbortController()
      const answer = wait({ signal: client.signal })
      await api.untilWaiting(1)
      client.abort()
      await expect(answer).rejects.toThrow()
      await api.untilWaiting(0)
    })
  })

  describe.each(['identity', 'gzip', 'br'])('an export in %s', (encoding) => {
    test('has the same content as without nginx', async () => {
      const [direct, passed] = await Promise.all([
        ask(`http://127.0.0.1:${api.port}`, 'identity'),
        ask(nginx.url, encoding),
      ])
      expect(await passed.text()).toBe(await direct.text())
    })

    test('never looks complete when it fails half way', async () => {
      const held = api.hold()
      const answer = await ask(nginx.url, encoding)
      expect(answer.status).toBe(200)
      await held.untilReached()
      held.fail()
      await expect(answer.text()).rejects.toThrow('terminated')
    })

    test('is streamed: rows arrive before the next ones are found', async () => {
      const held = api.hold()
      const { body } = await ask(nginx.url, encoding)
      const rows = createInterface({ input: Readable.fromWeb(body as ReadableStream) })[Symbol.asyncIterator]()
      await held.untilReached()
      for (let count = 0; count < held.firstRows(); count++) JSON.parse((await rows.next()).value ?? '')
      held.goOn()
      let others = 0
      for await (const _row of { [Symbol.asyncIterator]: () => rows }) others++
      expect(others).toBeGreaterThan(0)
    })
  })
})

test('with the shipped configuration, a request may wait as long as the API allows', () => {
  const seconds = Number(/proxy_read_timeout (?<seconds>\d+)s;/.exec(asShipped(0))?.groups?.['seconds'])
  expect(seconds).toBeGreaterThan(maxWaitSeconds)
})

describeNginx('the shipped configuration, while no API is reachable,', () => {
  const nginx = useStarted('nginx', () => startNginx(asShipped))
  const ask = (): Promise<Response> => fetch(`${nginx.url}/api/v1/records`)

  test('answers like an API whose engines are away', async () => {
    await nginx.reload((port) => asShipped(port).replace(`server 127.0.0.1:${api.port};`, 'server 127.0.0.1:1;'))
    await eventually(async () => (await ask()).status === 503)
    const answer = await ask()
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    await fetch(`${nginx.url}/api/v1/records?email=ada@example.com`)
    await eventually(async () => (await nginx.read('tidemark.log')).split(' 503 ').length > 3)
    for (const log of ['tidemark.log', 'tidemark-error.log', 'error.log'])
      expect(await nginx.read(log)).not.toContain('ada@example.com')
    const [, message] = errorAnswers.service_unavailable
    expect(await answer.json()).toEqual({ error: { code: 'service_unavailable', message } })
  })
})

describeNginx('an Elasticsearch behind nginx, below a path, that requires an API key', () => {
  const pipeline = usePipeline()
  const folder = useFolder()
  const asking =
    (key: string) =>
    (port: number): string =>
      `server {
        listen 127.0.0.1:${port};
        location /search/es/ {
          if ($http_authorization != "ApiKey ${key}") { return 401; }
          proxy_pass ${process.env['ELASTICSEARCH_URL']?.split(',')[0]}/;
        }
      }`
  const nginx = useStarted('nginx', () => startNginx(asking('first==')))
  afterEach(killPrograms)
  const settings = (more: Record<string, string>): Record<string, string> => ({
    ...pipeline.names,
    ELASTICSEARCH_URL: `${nginx.url}/search/es`,
    ...more,
  })

  test('is written, searched, rebuilt and verified; a new key in the file is used without a restart', async () => {
    const file = join(folder, 'api-key')
    await writeFile(file, 'first==\n')
    const withFile = settings({ ELASTICSEARCH_API_KEY_FILE: file })
    const indexer = await pipeline.startIndexer(withFile)
    const area = await pipeline.startApi({ ...withFile, ELASTICSEARCH_URL: `${nginx.url}/search/es/` })
    await pipeline.createKeys([team])
    // More than nginx takes in one request.
    const ids = Array.from({ length: 40 }, (_, at) => `form-${at}`)
    const change = (revision: number): Promise<void> => {
      const members = { title: `v${revision}`, description: 'd'.repeat(100_000) }
      const records = ids.map((id) => stateRecord('forms', `${team}/${id}`, revision, members))
      return pipeline.produce('forms', records)
    }
    let asked = 0
    const titles = async (): Promise<string | number> => {
      // Another question each time: an answer that was kept needs no Elasticsearch.
      const { status, body } = await pipeline.get(area, team, `/api/v1/forms?limit=${50 + (++asked % 50)}`)
      return status === 200 ? (body as { items: { title: string }[] }).items.map(({ title }) => title).join() : status
    }
    const all = (title: string): string => ids.map(() => title).join()
    await change(1)
    await eventually(async () => (await titles()) === all('v1'))
    const detail = await pipeline.get(area, team, `/api/v1/forms/${ids[0]}?includeFields=true`)
    expect(detail).toMatchObject({ status: 200, body: { description: 'd'.repeat(100_000) } })
    for (const command of ['rebuild', 'verify'] as const)
      expect(await runCommand(command, [], withFile)).toMatchObject({ code: 0 })

    await nginx.reload(asking('second=='))
    await eventually(async () => (await titles()) === 503)
    await change(2)
    await eventually(async () => JSON.stringify((await probe(indexer, 'readyz')).body).includes('401'))
    await writeFile(file, 'second==\n')
    await eventually(async () => (await titles()) === all('v2'))
    expect((await runCommand('verify', [], withFile)).code).toBe(0)
    expect(await indexer.metric('tidemark_records_total', '"dead-letter"')).toBe(0)
    for (const program of [indexer, area]) {
      expect(program.log()).not.toMatch(/first==|second==/)
      expect(await program.end('SIGTERM')).toBe(0)
    }
    await nginx.reload(asking('first=='))
  })

  test('ends a process that has another key, a user or no credentials with exit code 78 and one line', async () => {
    const refusal = (more: Record<string, string>): Promise<string> => refusalOf('api', settings(more))
    expect(await refusal({ ELASTICSEARCH_API_KEY: 'hunter2' })).toBe(
      'ELASTICSEARCH_API_KEY is refused by Elasticsearch\n',
    )
    const user = { ELASTICSEARCH_USERNAME: 'elastic', ELASTICSEARCH_PASSWORD: 'first==' }
    expect(await refusal(user)).toMatch(/^ELASTICSEARCH_PASSWORD is refused by/)
    expect(await refusal({})).toMatch(/^ELASTICSEARCH_USERNAME or ELASTICSEARCH_API_KEY must/)
  })
})
