import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { destination, type Logger } from 'pino'
import { Registry } from 'prom-client'
import { type Config, type Need, readConfig } from '../config/config.ts'
import { probe, probeDeadlineMs, probeLater } from '../config/preflight.ts'
import { configuredEngines, type Engines, probesOf } from '../engines/engines.ts'
import { type AdminPages, serveAdmin } from '../http/adminServer.ts'
import type { ListenAddress } from '../http/httpServer.ts'
import type { Problem } from '../model/schema.ts'
import { type Checks, Health, renderHealth, untilHealthy } from '../monitoring/health.ts'
import { createLog } from '../monitoring/log.ts'
import { processMetrics } from '../monitoring/metrics.ts'
import { onStopSignals } from './stopSignals.ts'

/** Additions of a started process to its admin port. */
export type Started = {
  /** Checks that `/readyz` runs. */
  readonly checks: Checks
  /** Admin pages besides `/livez`, `/readyz` and `/metrics`. */
  pages?(health: Health): AdminPages
}

/** Arguments for the start of a process. */
export type Service = Pick<Lifetime, 'signal' | 'release' | 'fail'> & {
  readonly config: Config
  readonly engines: Engines
  readonly log: Logger
  readonly metrics: Registry
}

/** Arguments for the start of a process that serves clients. */
export type ClientService = Service & {
  /** Awaited before it listens: resolves when its checks have passed, or soon. */
  untilAble(checks: Checks): Promise<void>
}

/** How long a process that serves clients waits for its engines: before they are connected, its answers would be 503. */
const listensWithinMs = 3_000
const stopDeadlineMs = 8_000
/** EX_CONFIG of sysexits.h. */
const configExitCode = 78

/**
 * Reads and validates the configuration of this process, and tries it on the engines. When a setting is invalid or an engine rejects
 * it, writes every problem to stderr and exits with 78. An unreachable engine is no problem.
 */
export const configOrExit = async (needs: readonly Need[]): Promise<Config> => (await checkedConfigOrExit(needs)).config

type Checked = Awaited<ReturnType<typeof checkedConfigOrExit>>

async function checkedConfigOrExit(needs: readonly Need[], ports?: DefaultPorts) {
  const read = readConfig(process.env, needs)
  if (!read.ok) return exitWith(read.problems)
  const probes = probesOf(read.config, needs)
  const deadlineMs = probeDeadlineMs[ports === undefined ? 'command' : 'service']
  const [listening, outcomes] = await Promise.all([
    ports === undefined ? [] : listeningProblems(read.config, ports),
    Promise.all(probes.map((engine) => probe(engine, deadlineMs))),
  ])
  const rejected = outcomes.filter((outcome) => outcome !== undefined && outcome !== 'unreachable')
  const problems = [...listening, ...rejected]
  if (problems.length > 0) return exitWith(problems)
  return { config: read.config, unreachable: probes.filter((_, at) => outcomes[at] === 'unreachable') }
}

function exitWith(problems: readonly Problem[]): never {
  for (const problem of problems) process.stderr.write(`${lineOf(problem)}\n`)
  process.exit(configExitCode)
}

const lineOf = ({ path, rule }: Problem): string => `${path} ${rule}`

/** The default ports of a process; without `port`, it has an admin port only. */
type DefaultPorts = { readonly port?: number; readonly adminPort: number }

async function listeningProblems(config: Config, { port, adminPort }: DefaultPorts): Promise<Problem[]> {
  const own = port === undefined ? undefined : (config.PORT ?? port)
  const admin = config.ADMIN_PORT ?? adminPort
  if (admin !== 0 && own === admin) return [{ path: 'ADMIN_PORT', rule: `must differ from PORT: both are ${admin}` }]
  const problems = await Promise.all([
    own === undefined ? undefined : problemAt({ port: own, host: config.HOST }, ['PORT', 'HOST']),
    admin === 0 ? undefined : problemAt({ port: admin, host: config.ADMIN_HOST }, ['ADMIN_PORT', 'ADMIN_HOST']),
  ])
  return problems.filter((problem) => problem !== undefined)
}

/** Tries to listen on an address, for a moment, and disconnects clients meanwhile. */
async function problemAt(address: ListenAddress, [port, host]: [string, string]): Promise<Problem | undefined> {
  const server = createServer((socket) => socket.destroy())
  try {
    server.listen(address)
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return undefined
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const path = ['EADDRINUSE', 'EACCES'].includes(code) ? port : host
    return { path, rule: `cannot be listened on here: ${message}` }
  }
}

type ServiceOptions = DefaultPorts & {
  readonly name: string
  readonly needs: readonly Need[]
  start(service: ClientService): Promise<Started>
}

export const serviceCommand = (options: ServiceOptions): Command => new Command().action(() => runService(options))

/**
 * Runs a process until SIGTERM or SIGINT, then drains for `DRAIN_MS`, releases its resources and exits with 0. Exits with 78 for
 * configuration problems, with 1 for other failures. Logs JSON to stderr; serves the admin port.
 */
async function runService(options: ServiceOptions): Promise<void> {
  let stop = (): void => process.exit(0)
  let force = stop
  onStopSignals(
    () => stop(),
    () => force(),
  )
  const { config, unreachable } = await checkedConfigOrExit(options.needs, options)
  const log = createLog({ name: options.name, level: config.LOG_LEVEL }, destination({ fd: 2, sync: true }))
  const onProblems = (problems: readonly Problem[]): void =>
    log.error({ problems: problems.map(lineOf) }, 'files of settings cannot be used; what they held before is')
  if (config.files !== undefined) config.files.onProblems = onProblems
  const lifetime = lifetimeOf(log)
  stop = () => lifetime.drain(config.DRAIN_MS)
  force = () => lifetime.end()
  process.on('unhandledRejection', (error) => lifetime.fail(error))
  process.on('uncaughtException', (error) => lifetime.fail(error))
  try {
    await start(options, { config, unreachable }, lifetime, log)
    log.info('started')
  } catch (error) {
    // Another process may have taken the port since the check at the start.
    const isOfPort = error instanceof Error && 'syscall' in error && error.syscall === 'listen'
    lifetime.fail(error, isOfPort ? configExitCode : 1)
  }
}

/**
 * What `/readyz` says. It is no until the process has started, and once it is stopping. A process without clients is not ready either while
 * a check fails. One that serves clients is: of an engine that is away its answers tell them, and some need none. Behind a balancer that
 * obeys `/readyz`, the outage of one engine would otherwise take every process away, and connections be refused.
 *
 * But such a process has not started before all checks have passed once, lest a release that cannot work replace one that does. Beside
 * an engine that is away, it waits for nothing.
 */
function readinessOf(servesClients: boolean, isEngineAway: boolean, lifetime: Lifetime) {
  let [isStarted, isAble] = [false, !servesClients || isEngineAway]
  const health = new Health(
    () => performance.now(),
    (name) => !servesClients || name === 'process',
  )
  health.add({
    process: async () => {
      if (lifetime.isStopping()) return 'is stopping'
      if (!isStarted) return 'is starting'
      return isAble ? undefined : 'has not been able to answer yet: other checks say why'
    },
  })
  return {
    health,
    untilAble: async (checks: Checks): Promise<void> => {
      health.add(checks)
      if (isAble) return
      const { signal } = lifetime
      const passed = untilHealthy(checks, signal).then(() => {
        isAble = true
      })
      passed.catch(() => undefined)
      await Promise.race([passed, sleep(listensWithinMs, undefined, { ref: false, signal })]).catch(() => undefined)
    },
    started: (checks: Checks): void => {
      health.add(checks)
      isStarted = true
    },
  }
}

/** Opens the admin port, then starts the process. */
async function start(options: ServiceOptions, { config, unreachable }: Checked, lifetime: Lifetime, log: Logger) {
  const { release, signal, fail, end } = lifetime
  const { health, untilAble, started } = readinessOf(options.port !== undefined, unreachable.length > 0, lifetime)
  const metrics = new Registry()
  processMetrics(metrics, health)
  const pages = new Map(pagesOf(health, metrics))
  const port = config.ADMIN_PORT ?? options.adminPort
  if (port !== 0) {
    const { ADMIN_HOST: host, ADMIN_ALLOWED_HOSTS: allowedHosts } = config
    const server = await serveAdmin({ host, port, allowedHosts }, pages)
    release('admin port', async () => {
      server.close()
      server.closeAllConnections()
    })
  }
  // An engine that was unreachable may still reject a setting. Others need no second check: their clients reconnect.
  for (const engine of unreachable)
    probeLater(engine, signal).then(
      (rejected) => {
        if (rejected === undefined) return
        log.fatal({ problems: [lineOf(rejected)] }, 'an engine rejects a setting')
        end(configExitCode)
      },
      () => undefined,
    )
  const service = { config, engines: configuredEngines, log, metrics, signal, release, fail, untilAble }
  const { checks, pages: ownPages } = await options.start(service)
  started(checks)
  for (const [path, page] of ownPages?.(health) ?? []) pages.set(path, page)
}

type Lifetime = ReturnType<typeof lifetimeOf>

/** Ends the process once: runs the releasers, last in first out, within a deadline, then exits. */
function lifetimeOf(log: Logger) {
  const stop = new AbortController()
  const { signal } = stop
  const releasers: { readonly what: string; readonly releaser: () => Promise<unknown> }[] = []
  let [lastExitCode, isDraining] = [0, false]

  const releaseAll = async (): Promise<void> => {
    for (const { what, releaser } of releasers.splice(0).reverse())
      await releaser().catch((error: unknown) => log.warn({ err: error, what }, 'a resource could not be released'))
  }
  const end = (exitCode = lastExitCode): void => {
    lastExitCode = exitCode
    if (signal.aborted) return
    stop.abort()
    Promise.race([releaseAll(), sleep(stopDeadlineMs)]).then(() => {
      log.info('stopped')
      process.exit(lastExitCode)
    }, process.abort)
  }
  return {
    /** Aborts when the process stops. */
    signal,
    isStopping: () => isDraining || signal.aborted,
    /** Registers a resource to close when the process ends, even if the start fails half way; last in, first out. */
    release: (what: string, releaser: () => Promise<unknown>): void => void releasers.push({ what, releaser }),
    /** Releases everything, then exits. */
    fail: (error: unknown, exitCode = 1): void => {
      log.fatal({ err: error }, 'process failed')
      end(exitCode)
    },
    /** Makes `/readyz` answer 503, and ends the process `drainMs` later. */
    drain: (drainMs: number): void => {
      isDraining = true
      setTimeout(end, drainMs)
    },
    /** A repeated call only changes the exit code, if given. */
    end,
  }
}

const jsonHeaders = { 'Content-Type': 'application/json' }

const pagesOf = (health: Health, metrics: Registry): AdminPages =>
  new Map([
    // Always live: after a fatal error the process exits by itself.
    ['/livez', async () => ({ status: 200, headers: jsonHeaders, body: '{"status":"live"}\n' })],
    [
      '/readyz',
      async () => {
        const results = await health.results()
        const isReady = health.isReady(results)
        return { status: isReady ? 200 : 503, headers: jsonHeaders, body: `${renderHealth(results, isReady)}\n` }
      },
    ],
    [
      '/metrics',
      async () => ({ status: 200, headers: { 'Content-Type': metrics.contentType }, body: await metrics.metrics() }),
    ],
  ])
