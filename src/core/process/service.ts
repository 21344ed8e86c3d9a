import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { destination, type Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Problem } from '../model/result.ts'
import { configuredEngines, type Engines, probesOf } from '../stores/engines.ts'
import { type EngineProbe, preflight, preflightLater } from '../stores/preflight.ts'
import { type AdminPage, type AdminPages, serveAdmin } from './adminServer.ts'
import { type Config, type Need, readConfig } from './config.ts'
import { type Checks, Health, isHealthy, renderHealth } from './health.ts'
import { type DefaultPorts, isListeningError, listeningProblems } from './listening.ts'
import { createLog } from './log.ts'
import { processMetrics } from './processMetrics.ts'

/** What a process that has started adds to its admin port. */
export type Started = {
  /** Checks of what it cannot work without; `/readyz` runs them. */
  readonly checks: Checks
  /** Pages beside those that every process has. */
  pages?(health: Health): AdminPages
}

/** What a process is built from. */
export type Service = {
  readonly config: Config
  readonly engines: Engines
  readonly log: Logger
  readonly metrics: Registry
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal
  /** Registers what is closed when the process ends; last in, first out, also when the start fails half way. */
  release(what: string, releaser: () => Promise<unknown>): void
  /** Ends the process with exit code 1, after everything is released. */
  fail(error: unknown): void
}

const stopDeadlineMs = 9_000
/** EX_CONFIG of sysexits.h. */
const configExitCode = 78

/**
 * Reads this process's configuration and checks it against the engines. When a setting is wrong, or an engine rejects it, writes
 * every problem to stderr and exits with 78. An engine that is unreachable is no problem.
 */
export const configOrExit = async (needs: readonly Need[]): Promise<Config> => (await checkedConfigOrExit(needs)).config

async function checkedConfigOrExit(
  needs: readonly Need[],
  ports?: DefaultPorts,
): Promise<{ readonly config: Config; readonly unreachable: EngineProbe[] }> {
  const read = readConfig(process.env, needs)
  if (!read.ok) return exitWith(read.problems)
  const engines = needs.filter((need) => need !== 'sign-in')
  const [listening, { rejections, unreachable }] = await Promise.all([
    ports === undefined ? [] : listeningProblems(read.config, ports),
    preflight(probesOf(read.config, engines), new AbortController().signal),
  ])
  const problems = [...listening, ...rejections]
  return problems.length > 0 ? exitWith(problems) : { config: read.config, unreachable }
}

function exitWith(problems: readonly Problem[]): never {
  for (const { path, rule } of problems) process.stderr.write(`${path} ${rule}\n`)
  process.exit(configExitCode)
}

type ServiceOptions = DefaultPorts & {
  readonly name: string
  readonly needs: readonly Need[]
  start(service: Service): Promise<Started>
}

/** The command that runs one process. */
export const serviceCommand = (options: ServiceOptions): Command => new Command().action(() => runService(options))

/**
 * Runs one process from its environment until SIGTERM or SIGINT: every configuration problem at once and exit 78, JSON logs on
 * stderr, an admin port with `/livez`, `/readyz` and `/metrics`, releasers, exit 0 within ten seconds of the signal.
 */
async function runService(options: ServiceOptions): Promise<void> {
  let stop = (): void => process.exit(0)
  process.on('SIGTERM', () => stop())
  process.on('SIGINT', () => stop())
  const { config, unreachable } = await checkedConfigOrExit(options.needs, options)
  const log = createLog({ name: options.name, level: config.LOG_LEVEL }, destination({ fd: 2, sync: true }))
  const lifetime = new Lifetime(log)
  stop = () => lifetime.end()
  process.on('unhandledRejection', (error) => lifetime.fail(error))
  process.on('uncaughtException', (error) => lifetime.fail(error))
  try {
    await start(options, { config, unreachable }, lifetime, log)
    log.info('started')
  } catch (error) {
    // Another process was faster than the check at the start.
    lifetime.fail(error, isListeningError(error) ? configExitCode : 1)
  }
}

/** Opens the admin port, then starts the process; `/readyz` says no until it has started, and once it is stopping. */
async function start(
  options: ServiceOptions,
  { config, unreachable }: { readonly config: Config; readonly unreachable: readonly EngineProbe[] },
  lifetime: Lifetime,
  log: Logger,
): Promise<void> {
  const { signal, release, fail } = lifetime
  let isStarted = false
  const health = new Health(Date.now)
  health.add({
    process: async () => {
      if (signal.aborted) return 'is stopping'
      return isStarted ? undefined : 'is starting'
    },
  })
  const metrics = new Registry()
  processMetrics(metrics, health)
  let pages: AdminPages = new Map([
    ['/livez', life],
    ['/readyz', readiness(health)],
    ['/metrics', metricsPage(metrics)],
  ])
  const port = config.ADMIN_PORT ?? options.adminPort
  if (port !== 0) {
    const { ADMIN_HOST: host, ADMIN_ALLOWED_HOSTS: allowedHosts } = config
    const server = await serveAdmin({ host, port, allowedHosts }, () => pages)
    release('admin port', async () => {
      server.close()
      server.closeAllConnections()
    })
  }
  watchUnreachable(unreachable, lifetime, log).catch((error: unknown) => {
    if (!signal.aborted) fail(error)
  })
  const started = await options.start({ config, engines: configuredEngines, log, metrics, signal, release, fail })
  health.add(started.checks)
  pages = new Map([...pages, ...(started.pages?.(health) ?? [])])
  isStarted = true
}

/**
 * Repeats the preflight check of engines that were unreachable at start: they may still reject our credentials, and the process
 * then ends with 78. An engine that has accepted us once is not checked again; later rejections are retried by its client.
 */
async function watchUnreachable(
  unreachable: readonly EngineProbe[],
  { signal, end }: Lifetime,
  log: Logger,
): Promise<void> {
  const rejections = await preflightLater(unreachable, signal)
  if (rejections.length === 0) return
  log.fatal({ problems: rejections.map(({ path, rule }) => `${path} ${rule}`) }, 'an engine rejects a setting')
  end(configExitCode)
}

/** Ends the process once: releases what was registered, last in first out, within a deadline. */
class Lifetime {
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #releasers: { readonly what: string; readonly releaser: () => Promise<unknown> }[] = []
  #exitCode = 0

  constructor(log: Logger) {
    this.#log = log
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  readonly release = (what: string, releaser: () => Promise<unknown>): void => {
    this.#releasers.push({ what, releaser })
  }

  readonly fail = (error: unknown, exitCode = 1): void => {
    this.#log.fatal({ err: error }, 'process failed')
    this.end(exitCode)
  }

  /** A later call changes the exit code alone, if it names one. */
  readonly end = (exitCode = this.#exitCode): void => {
    this.#exitCode = exitCode
    if (this.signal.aborted) return
    this.#stop.abort()
    Promise.race([this.#releaseAll(), sleep(stopDeadlineMs)]).then(() => {
      this.#log.info('stopped')
      process.exit(this.#exitCode)
    }, process.abort)
  }

  async #releaseAll(): Promise<void> {
    for (const { what, releaser } of this.#releasers.splice(0).reverse()) {
      await releaser().catch((error: unknown) =>
        this.#log.warn({ err: error, what }, 'a resource could not be released'),
      )
    }
  }
}

const jsonHeaders = { 'Content-Type': 'application/json' }

/** Answering is enough: a process ends by itself after a fatal error. */
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
