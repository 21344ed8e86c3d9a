import { once } from 'node:events'
import { createServer } from 'node:net'
import { Command } from 'commander'
import { destination, type Logger } from 'pino'
import { Registry } from 'prom-client'
import { type Config, type Need, readConfig } from '../config/config.ts'
import { type EngineProbe, probe, probeDeadlineMs, probeLater } from '../config/preflight.ts'
import { configuredEngines, type Engines, probesOf } from '../engines/engines.ts'
import { type AdminPages, serveAdmin } from '../http/adminServer.ts'
import type { ListenAddress } from '../http/httpServer.ts'
import type { Problem } from '../model/schema.ts'
import { type Checks, type Health, renderHealth } from '../monitoring/health.ts'
import { createLog } from '../monitoring/log.ts'
import { processMetrics } from '../monitoring/metrics.ts'
import { type Lifetime, lifetimeOf } from './lifetime.ts'
import { readinessOf } from './readiness.ts'
import { onStopSignals } from './stopSignals.ts'

export type Started = {
  readonly checks: Checks
  pages?(health: Health): AdminPages
}

export type Service = Pick<Lifetime, 'signal' | 'release' | 'fail'> & {
  readonly config: Config
  readonly engines: Engines
  readonly log: Logger
  readonly metrics: Registry
}

export type ClientService = Service & {
  /** Waits until the checks pass, for three seconds at most; to be awaited before listening (`readiness.ts`). */
  untilAble(checks: Checks): Promise<void>
}

/** EX_CONFIG of sysexits.h. */
const configExitCode = 78

type DefaultPorts = { readonly port?: number; readonly adminPort: number }

type ServiceOptions = DefaultPorts & {
  readonly name: string
  readonly needs: readonly Need[]
  start(service: ClientService): Promise<Started>
}

export const serviceCommand = (options: ServiceOptions): Command => new Command().action(() => runService(options))

/** Runs until SIGTERM or SIGINT, then drains for `DRAIN_MS`, releases resources and exits with 0. Exit code 78: configuration problem; 1: other failure. */
async function runService(options: ServiceOptions): Promise<void> {
  // Until the configuration is read, a stop signal ends the process at once.
  let stop = (): void => process.exit(0)
  let force = stop
  onStopSignals(
    () => stop(),
    () => force(),
  )
  const checkedConfig = await checkedConfigOrExit(options.needs, options)
  const { config } = checkedConfig
  const log = createLog({ name: options.name, level: config.LOG_LEVEL }, destination({ fd: 2, sync: true }))
  if (config.files !== undefined)
    config.files.onProblems = (problems) =>
      log.error(
        { problems: problems.map(lineOf) },
        'files of settings cannot be used; their former content stays in force',
      )
  const lifetime = lifetimeOf(log)
  stop = () => lifetime.drain(config.DRAIN_MS)
  force = () => lifetime.end()
  process.on('unhandledRejection', (error) => lifetime.fail(error))
  process.on('uncaughtException', (error) => lifetime.fail(error))
  try {
    await start(options, checkedConfig, lifetime, log)
    log.info('started')
  } catch (error) {
    // Another process may have opened the port since `listeningProblems`.
    const isListenError = error instanceof Error && 'syscall' in error && error.syscall === 'listen'
    lifetime.fail(error, isListenError ? configExitCode : 1)
  }
}

async function start(
  options: ServiceOptions,
  checkedConfig: CheckedConfig,
  lifetime: Lifetime,
  log: Logger,
): Promise<void> {
  const { config, unreachable } = checkedConfig
  const { release, signal, fail, end } = lifetime
  const { health, untilAble, setStarted } = readinessOf(options.port !== undefined, unreachable.length > 0, lifetime)
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
  // An unreachable engine may reject a setting later.
  for (const engine of unreachable)
    probeLater(engine, signal).then(
      (outcome) => {
        if (outcome.kind === 'accepted') return
        log.fatal({ problems: [lineOf(outcome.problem)] }, 'an engine rejects a setting')
        end(configExitCode)
      },
      () => undefined,
    )
  const service = { config, engines: configuredEngines, log, metrics, signal, release, fail, untilAble }
  const { checks, pages: ownPages } = await options.start(service)
  setStarted(checks)
  for (const [path, page] of ownPages?.(health) ?? []) pages.set(path, page)
}

const jsonHeaders = { 'Content-Type': 'application/json' }

const pagesOf = (health: Health, metrics: Registry): AdminPages =>
  new Map([
    // The process exits after a fatal error.
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

/** `unreachable`: engines that have not answered the probe, and may still reject the configuration. */
type CheckedConfig = { readonly config: Config; readonly unreachable: readonly EngineProbe[] }

/** If settings are invalid or an engine rejects one, writes every problem to stderr and exits with 78. Ignores unreachable engines. */
export const configOrExit = async (needs: readonly Need[]): Promise<Config> => (await checkedConfigOrExit(needs)).config

/** `ports`: of a service only. */
async function checkedConfigOrExit(needs: readonly Need[], ports?: DefaultPorts): Promise<CheckedConfig> {
  const read = readConfig(process.env, needs)
  if (!read.ok) return exitWith(read.problems)
  const { config } = read
  const deadlineMs = probeDeadlineMs[ports === undefined ? 'command' : 'service']
  const [listening, probed] = await Promise.all([
    ports === undefined ? [] : listeningProblems(config, ports),
    Promise.all(probesOf(config, needs).map(async (engine) => ({ engine, outcome: await probe(engine, deadlineMs) }))),
  ])
  const rejected = probed.flatMap(({ outcome }) => (outcome.kind === 'rejected' ? [outcome.problem] : []))
  const problems = [...listening, ...rejected]
  if (problems.length > 0) return exitWith(problems)
  const unreachable = probed.filter(({ outcome }) => outcome.kind === 'unreachable').map(({ engine }) => engine)
  return { config, unreachable }
}

function exitWith(problems: readonly Problem[]): never {
  for (const problem of problems) process.stderr.write(`${lineOf(problem)}\n`)
  process.exit(configExitCode)
}

const lineOf = ({ path, rule }: Problem): string => `${path} ${rule}`

async function listeningProblems(config: Config, { port, adminPort }: DefaultPorts): Promise<Problem[]> {
  const servicePort = port === undefined ? undefined : (config.PORT ?? port)
  const admin = config.ADMIN_PORT ?? adminPort
  if (admin !== 0 && servicePort === admin)
    return [{ path: 'ADMIN_PORT', rule: `must differ from PORT: both are ${admin}` }]
  const problems = await Promise.all([
    servicePort === undefined
      ? undefined
      : problemAt({ port: servicePort, host: config.HOST }, { port: 'PORT', host: 'HOST' }),
    admin === 0
      ? undefined
      : problemAt({ port: admin, host: config.ADMIN_HOST }, { port: 'ADMIN_PORT', host: 'ADMIN_HOST' }),
  ])
  return problems.filter((problem) => problem !== undefined)
}

/** Listens for a moment; undefined if that works. `names`: the variables of port and host. */
async function problemAt(address: ListenAddress, names: { port: string; host: string }): Promise<Problem | undefined> {
  const server = createServer((socket) => socket.destroy())
  try {
    server.listen(address)
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return undefined
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const path = ['EADDRINUSE', 'EACCES'].includes(code) ? names.port : names.host
    return { path, rule: `cannot be listened on here: ${message}` }
  }
}
