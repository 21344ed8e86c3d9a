import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { destination, type Logger, pino } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { type Config, type Need, readConfig } from './config.ts'

/** Why a process cannot do its work just now; empty when it can. */
export type Readiness = () => Promise<readonly string[]>

/** What a process is handed to build itself from. */
export type Service = {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Registry
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal
  /** Registers what must be let go at the end; released last in, first out, also when the start fails half way. */
  release(what: string, releaser: () => Promise<unknown>): void
  /** Ends the process with exit code 1, after everything is released. */
  fail(error: unknown): void
}

const stopDeadlineMs = 9_000
/** EX_CONFIG of sysexits.h. */
const configExitCode = 78

/** This process's configuration; when anything in it is wrong, everything that is wrong on stderr, and exit code 78. */
export function configOrExit(needs: readonly Need[]): Config {
  const read = readConfig(process.env, needs)
  if (read.ok) return read.config
  for (const { path, rule } of read.problems) process.stderr.write(`${path} ${rule}\n`)
  process.exit(configExitCode)
}

/**
 * Runs one process from its environment until SIGTERM or SIGINT: every configuration problem at once and exit 78, JSON logs on
 * stderr, an admin port with `/livez`, `/readyz` and `/metrics`, releasers, exit 0 within ten seconds of the signal.
 */
export async function runService(options: {
  name: string
  needs: readonly Need[]
  adminPort: number
  start: (service: Service) => Promise<Readiness>
}): Promise<void> {
  const config = configOrExit(options.needs)
  const log = pino({ name: options.name, level: config.LOG_LEVEL, base: null }, destination({ fd: 2, sync: true }))
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  const stop = new AbortController()
  const releasers: { what: string; releaser: () => Promise<unknown> }[] = []
  let exitCode = 0

  const releaseAll = async (): Promise<void> => {
    for (const { what, releaser } of releasers.splice(0).reverse()) {
      await releaser().catch((error: unknown) => log.warn({ err: error, what }, 'could not be released'))
    }
  }
  const end = (): void => {
    if (stop.signal.aborted) return
    stop.abort()
    Promise.race([releaseAll(), sleep(stopDeadlineMs)]).then(() => {
      log.info('stopped')
      process.exit(exitCode)
    }, process.abort)
  }
  const fail = (error: unknown): void => {
    log.fatal({ err: error }, 'failed')
    exitCode = 1
    end()
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  process.on('unhandledRejection', fail)
  process.on('uncaughtException', fail)

  try {
    let readiness: Readiness = async () => ['starting']
    const adminPort = config.ADMIN_PORT ?? options.adminPort
    const release = (what: string, releaser: () => Promise<unknown>): void => {
      releasers.push({ what, releaser })
    }
    if (adminPort !== 0) await serveAdmin(adminPort, metrics, () => readiness(), release)
    readiness = await options.start({ config, log, metrics, signal: stop.signal, release, fail })
    log.info('started')
  } catch (error) {
    fail(error)
  }
}

async function serveAdmin(
  port: number,
  metrics: Registry,
  readiness: Readiness,
  release: Service['release'],
): Promise<void> {
  const server = createServer((request, response) => {
    answer(request.url ?? '', response).catch((error: Error) => send(response, 500, error.message))
  })
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    if (path === '/livez') return send(response, 200, 'ok')
    if (path === '/metrics') return send(response, 200, await metrics.metrics(), metrics.contentType)
    if (path !== '/readyz') return send(response, 404, 'not found')
    const problems = await readiness()
    send(response, problems.length === 0 ? 200 : 503, problems.length === 0 ? 'ok' : problems.join('\n'))
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, resolve)
  })
  release('admin port', async () => {
    server.close()
    server.closeAllConnections()
  })
}

function send(response: ServerResponse, status: number, body: string, contentType = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': contentType })
  response.end(`${body}\n`)
}
