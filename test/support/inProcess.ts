import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Writable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import { configuredEngines } from '../../src/core/engines/engines.ts'
import { type Checks, failed } from '../../src/core/monitoring/health.ts'
import { createLog } from '../../src/core/monitoring/log.ts'
import type { ClientService, Started } from '../../src/core/process/lifecycle.ts'
import { testConfig } from './config.ts'
import { eventually } from './eventually.ts'

export type TestAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly cookies: readonly string[]
  readonly text: string
  /** The parsed body; undefined when empty or not JSON. */
  readonly json: unknown
}

export type TestRequest = {
  readonly method?: string
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** Sends a request; the target is not normalised. */
export async function send(
  port: number,
  target: string,
  { method = 'GET', key, headers, body, signal }: TestRequest = {},
): Promise<TestAnswer> {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const outgoing = request({
    port,
    path: target,
    method,
    agent: false,
    signal,
    headers: { ...authorization, ...headers },
  })
  // Ignored, because an error after the answer has begun also fails the reading of the answer.
  outgoing.on('error', () => undefined)
  outgoing.end(body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const text = await readText(response)
  const { 'set-cookie': cookies = [], ...others } = response.headers
  const isJson = response.headers['content-type']?.startsWith('application/json') ?? false
  const json = isJson && text !== '' ? JSON.parse(text) : undefined
  return { status: response.statusCode ?? 0, headers: others as TestAnswer['headers'], cookies, text, json }
}

/** Starts a server of the project in this process, on a free port, composed as in production. */
export async function startInProcess(
  start: (service: Omit<ClientService, 'fail'>) => Promise<Started & { readonly port: number }>,
  settings: Readonly<Record<string, string>>,
  awaitReady: boolean,
) {
  let log = ''
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      log += String(chunk)
      done()
    },
  })
  const releasers: (() => Promise<unknown>)[] = []
  const metrics = new Registry()
  const stop = new AbortController()
  const close = async (): Promise<void> => {
    stop.abort()
    for (const releaser of releasers.splice(0).reverse()) await releaser()
  }
  try {
    const config = testConfig(settings)
    const { port, checks } = await start({
      ...{ config, engines: configuredEngines, metrics, signal: stop.signal },
      log: createLog({ name: 'test', level: 'info' }, sink),
      untilAble: async () => undefined,
      release: (_what, releaser) => void releasers.push(releaser),
    })
    const readiness = readinessOf(checks)
    if (awaitReady) await eventually(async () => (await readiness()).length === 0)
    return { config, port, metrics, readiness, log: () => log, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The present problems of all checks, as `name: problem`. */
const readinessOf = (checks: Checks) => async (): Promise<string[]> => {
  const problems = Object.entries(checks).map(async ([name, check]) => {
    const outcome = await check(AbortSignal.timeout(2_000)).catch((error: Error) => failed(error.message))
    return outcome.ok ? [] : [`${name}: ${outcome.problem}`]
  })
  return (await Promise.all(problems)).flat()
}
