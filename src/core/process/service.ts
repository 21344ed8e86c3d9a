import { setTimeout as sleep } from 'node:timers/promises'
import { destination, type Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Problem } from '../model/result.ts'
import { preflight } from '../stores/preflight/preflight.ts'
import { type AdminPage, type AdminPages, serveAdmin } from './adminServer.ts'
import { type Config, type Engine, type Need, readConfig } from './config.ts'
import { type Checks, Health, isHealthy, renderHealth } from './health.ts'
import { listeningProblem } from './httpServer.ts'
import { createLog } from './log.ts'
import { processMetrics } from './processMetrics.ts'

/** What a process that has started tells on its admin port. */
export type Started = {
  /** What it cannot do its work without. */
  readonly checks: Checks
  /** Pages beside those that every process has. */
  pages?(health: Health): AdminPages
}

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

/** Variables that name an address to listen on. */
type ListenVariable = 'HOST' | 'ADMIN_HOST'

const stopDeadlineMs = 9_000
/** EX_CONFIG of sysexits.h. */
const configExitCode = 78
const linkRetryMs = 2_000

/**
 * This process's configuration; when anything in it is wrong, or an engine refuses who it names, everything that is wrong on
 * stderr, and exit code 78. An engine that is away refuses nobody.
 */
export const configOrExit = async (needs: readonly Need[]): Promise<Config> => (await linkOrExit(needs)).config

/** The configuration, and the engines that were away. */
async function linkOrExit(
  needs: readonly Need[],
  listensOn: readonly ListenVariable[] = [],
): Promise<{ readonly config: Config; readonly away: Engine[] }> {
  const read = readConfig(process.env, needs)
  if (!read.ok) return exitWith(read.problems)
  const engines = needs.filter((need) => need !== 'sign-in')
  const [unheard, { refusals, away }] = await Promise.all([
    listeningProblems(read.config, listensOn),
    tryCredentials(read.config, engines, new AbortController().signal),
  ])
  const problems = [...unheard, ...refusals]
  return problems.length > 0 ? exitWith(problems) : { config: read.config, away }
}

async function listeningProblems(config: Config, names: readonly ListenVariable[]): Promise<Problem[]> {
  const problems = names.map(async (path) => {
    const reason = await listeningProblem(config[path])
    return reason === undefined ? [] : [{ path, rule: `cannot be listened on here: ${reason}` }]
  })
  return (await Promise.all(problems)).flat()
}

function exitWith(problems: readonly Problem[]): never {
  for (const { path, rule } of problems) process.stderr.write(`${path} ${rule}\n`)
  process.exit(configExitCode)
}

async function tryCredentials(
  config: Config,
  engines: readonly Engine[],
  signal: AbortSignal,
): Promise<{ readonly refusals: Problem[]; readonly away: Engine[] }> {
  const links = await Promise.all(engines.map((engine) => preflight(config, engine, signal)))
  return {
    refusals: links.filter((link) => typeof link === 'object'),
    away: engines.filter((_, at) => links[at] === 'away'),
  }
}

/**
 * Runs one process from its environment until SIGTERM or SIGINT: every configuration problem at once and exit 78, JSON logs on
 * stderr, an admin port with `/livez`, `/readyz` and `/metrics`, releasers, exit 0 within ten seconds of the signal.
 */
export async function runService(options: {
  name: string
  needs: readonly Need[]
  listensOn: readonly ListenVariable[]
  adminPort: number
  start: (service: Service) => Promise<Started>
}): Promise<void> {
  const { config, away } = await linkOrExit(options.needs, options.listensOn)
  const log = createLog({ name: options.name, level: config.LOG_LEVEL }, destination({ fd: 2, sync: true }))
  const stop = new AbortController()
  const releasers: { what: string; releaser: () => Promise<unknown> }[] = []
  let exitCode = 0
  let isStarted = false

  const health = new Health(Date.now)
  health.add({
    process: async () => {
      if (stop.signal.aborted) return 'is stopping'
      return isStarted ? undefined : 'is starting'
    },
  })
  const metrics = new Registry()
  processMetrics(metrics, health)

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
  /** Who was away may refuse when it comes; who has let this process in once and refuses later is waited for. */
  const watchLinks = async (): Promise<void> => {
    for (let left = away; left.length > 0; ) {
      await sleep(linkRetryMs, undefined, { signal: stop.signal })
      const { refusals, away: still } = await tryCredentials(config, left, stop.signal)
      if (refusals.length > 0) {
        log.fatal({ problems: refusals.map(({ path, rule }) => `${path} ${rule}`) }, 'refused')
        exitCode = configExitCode
        return end()
      }
      left = still
    }
  }
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  process.on('unhandledRejection', fail)
  process.on('uncaughtException', fail)

  try {
    const adminPort = config.ADMIN_PORT ?? options.adminPort
    const release = (what: string, releaser: () => Promise<unknown>): void => {
      releasers.push({ what, releaser })
    }
    let pages: AdminPages = new Map([
      ['/livez', life],
      ['/readyz', readiness(health)],
      ['/metrics', metricsPage(metrics)],
    ])
    if (adminPort !== 0) {
      const { ADMIN_HOST: host, ADMIN_ALLOWED_HOSTS: allowedHosts } = config
      const server = await serveAdmin({ host, port: adminPort, allowedHosts }, () => pages)
      release('admin port', async () => {
        server.close()
        server.closeAllConnections()
      })
    }
    watchLinks().catch((error: unknown) => {
      if (!stop.signal.aborted) fail(error)
    })
    const started = await options.start({ config, log, metrics, signal: stop.signal, release, fail })
    health.add(started.checks)
    pages = new Map([...pages, ...(started.pages?.(health) ?? [])])
    isStarted = true
    log.info('started')
  } catch (error) {
    fail(error)
  }
}

const jsonHeaders = { 'Content-Type': 'application/json' }

/** That it answers is all there is to say: a process that something fatal happens to ends by itself. */
const life: AdminPage = async () => ({ status: 200, headers: jsonHeaders, body: '{"status":"live"}\n' })

const readiness =
  (health: Health): AdminPage =>
  async () => {
    const results = await health.results()
    const body = `${renderHealth(results, Date.now())}\n`
    return { status: isHealthy(results) ? 200 : 503, headers: jsonHeaders, body }
  }

const metricsPage =
  (metrics: Registry): AdminPage =>
  async () => ({ status: 200, headers: { 'Content-Type': metrics.contentType }, body: await metrics.metrics() })
