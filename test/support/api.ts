import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { Writable } from 'node:stream'
import { Registry } from 'prom-client'
import { startApi } from '../../src/api/startApi.ts'
import type { Checks } from '../../src/core/process/health.ts'
import { createLog } from '../../src/core/process/log.ts'
import { configuredEngines } from '../../src/core/stores/engines.ts'
import { testConfig } from './config.ts'
import { eventually } from './eventually.ts'
import { repeating, sideBySide } from './repeating.ts'

export type TestAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** The body, parsed; undefined when there is none, or it is not JSON. */
  readonly json: unknown
}

export type TestRequest = {
  readonly method?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export type TestApi = {
  readonly port: number
  readonly logLines: readonly Readonly<Record<string, unknown>>[]
  readonly metrics: Registry
  readonly readiness: () => Promise<readonly string[]>
  /** Sends the target as it is written, without any normalising. */
  send(target: string, request?: TestRequest): Promise<TestAnswer>
  close(): Promise<void>
}

type ApiOptions = {
  readonly settings: Readonly<Record<string, string>>
  readonly nowMs?: () => number
  /** How long requests wait that prefer to is measured by this. */
  readonly elapsedMs?: () => number
  /** Waits until the API is ready to answer. */
  readonly awaitReady?: boolean
}

/** The API in this process, on a free port, composed as in production. */
export async function startTestApi({ settings, nowMs, elapsedMs, awaitReady = true }: ApiOptions): Promise<TestApi> {
  const logLines: Record<string, unknown>[] = []
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      logLines.push(JSON.parse(String(chunk)) as Record<string, unknown>)
      done()
    },
  })
  const releasers: (() => Promise<unknown>)[] = []
  const metrics = new Registry()
  const close = async (): Promise<void> => {
    for (const releaser of releasers.splice(0).reverse()) await releaser()
    await expectNamedIfRepeating(metrics)
  }
  const release = (_what: string, releaser: () => Promise<unknown>): void => {
    releasers.push(releaser)
  }
  try {
    const log = createLog({ name: 'test', level: 'info' }, sink)
    const { port, checks } = await startApi(
      { config: testConfig(settings), engines: configuredEngines, log, metrics, release },
      nowMs,
      elapsedMs,
    )
    const readiness = readinessOf(checks)
    if (awaitReady) await eventually(async () => (await readiness()).length === 0)
    return { port, logLines, metrics, readiness, send: (target, options) => send(port, target, options), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Throws where cached answers were served in a contract test that does not run without them, too. */
async function expectNamedIfRepeating(metrics: Registry): Promise<void> {
  const [, name = ''] = /\/test\/(contract\/\w+)\.test\.ts$/.exec(expect.getState().testPath ?? '') ?? []
  if (name === '' || [...repeating, ...sideBySide].includes(name)) return
  const lookups = await metrics.getSingleMetric('tidemark_http_answer_cache_lookups_total')?.get()
  const kept = lookups?.values.filter(({ labels }) => labels['result'] !== 'miss') ?? []
  if (kept.some(({ value }) => value > 0)) throw new Error(`cached answers were served: repeating.ts must name ${name}`)
}

function send(
  port: number,
  target: string,
  { method = 'GET', key, headers, signal }: TestRequest = {},
): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      path: target,
      method,
      agent: false,
      signal,
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Readonly<Record<string, string | undefined>>,
          text,
          json: isJson(response) && text !== '' ? JSON.parse(text) : undefined,
        })
      })
    })
    sent.end()
  })
}

const isJson = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.startsWith('application/json') ?? false

/** What every check says now that has a problem, as `name: problem`. */
export const readinessOf = (checks: Checks) => async (): Promise<string[]> => {
  const said = Object.entries(checks).map(async ([name, check]) => {
    const problem = await check(AbortSignal.timeout(2_000)).catch((error: Error) => error.message)
    return problem === undefined ? [] : [`${name}: ${problem}`]
  })
  return (await Promise.all(said)).flat()
}

/** An answer whose body is read by hand. */
export async function openAnswer(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ sent: ClientRequest; received: IncomingMessage }> {
  const sent = request({ port, path, agent: false, headers }).end()
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  return { sent, received }
}

/** The lines of an export. */
export function linesOf({ status, text }: TestAnswer): string[] {
  expect([status, text === '' || text.endsWith('\n')]).toEqual([200, true])
  return text.split('\n').slice(0, -1)
}
