import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../src/core/config/config.ts'
import { configOrExit } from '../../src/core/process/lifecycle.ts'
import { type Engines, externalEngines, failWhenEngineEnds, startEngines } from '../engines/engines.ts'
import { UnsuitableSetUp } from '../engines/foreground.ts'
import { lockOrRefuse } from '../engines/lock.ts'
import { choosePort, portFree } from '../engines/ports.ts'
import { within } from '../engines/waiting.ts'
import { signInEnvironment } from '../sample/signIn.ts'
import { type LiveOptions, live } from './live.ts'
import { failWhenEnded, type Service, type ServiceName, startService } from './services.ts'

export type DemoOptions = {
  /** The number of submissions when the demo is ready. */
  submissions: number
  /** The port of the API; by default 3000, or any free port. */
  port?: number
  folder: string
  /** Where engines are unpacked; by default `engines` in `folder`. */
  distributions?: string
}

const defaultPorts = { api: 3_000, settings: 3_001, status: 9_102 }
/** Loopback only: keys and sign-in of the sample are no secrets. */
const onLoopback = { HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' }
/** With more submissions, full compilers save more time than their slower start costs. */
const quickSubmissions = 100_000
/** Engines wait so long for the services to end. */
const servicesFirstMs = 2_000

/**
 * Runs engines, services and a producer of new records until `stopped` aborts, then ends all within ten seconds. Rejects if a program cannot start or
 * ends by itself, and with the signal's reason if stopped before it was ready.
 */
export async function runDemo(options: DemoOptions, stopped: AbortSignal): Promise<void> {
  const { folder, port } = options
  const ownConfig = await configOrExit([])
  if (port !== undefined && !(await portFree(port))) {
    throw new UnsuitableSetUp(`Port ${port} is taken: choose another one, or leave out --port`)
  }
  await mkdir(folder, { recursive: true })
  await using running = new AsyncDisposableStack()
  const lock = await lockOrRefuse(
    join(folder, 'demo.lock'),
    (pid) => `A demo runs already in ${folder}, as process ${pid}. Stop it first.`,
  )
  running.defer(() => lock.release())
  // A demo that was killed has left its file.
  const demoFile = join(folder, 'demo.json')
  await rm(demoFile, { force: true })
  const engines = await startEngines({
    ...options,
    // Only the records of this run, so that the printed counts are right.
    clean: true,
    quick: options.submissions <= quickSubmissions,
    external: externalEngines(process.env),
    progress: process.stdout,
    signal: stopped,
  })
  const services: Service[] = []
  running.defer(() => stopAll(services, engines))
  running.defer(() => rm(demoFile, { force: true }))
  const over = new AbortController()
  running.defer(() => over.abort(new Error('the demo is over')))
  await runServices(options, { ownConfig, engines, services, signal: AbortSignal.any([stopped, over.signal]) })
}

async function runServices(
  { folder, submissions, port }: DemoOptions,
  on: { ownConfig: Config; engines: Engines; services: Service[]; signal: AbortSignal },
): Promise<void> {
  const { ownConfig, engines, services, signal } = on
  const { environments, statusUrl, ...plan } = await planServices(engines, port)
  const logsFolder = join(folder, 'logs')
  process.stdout.write(
    `Starting the indexer, the API and the settings area; their logs and the engines' are in ${logsFolder}\nHow far they are: ${statusUrl}\n`,
  )
  const starts = (['indexer', 'api', 'settings'] as const).map(async (name) => {
    services.push(await startService(name, { environment: environments[name], logsFolder, signal }))
  })
  await Promise.all(starts)
  const config = { ...ownConfig, KAFKA_BROKERS: engines.urls.KAFKA_BROKERS.split(',') }
  const demo = live({ ...plan, folder, submissions, config, engineUrls: engines.urls, signal })
  await Promise.race([demo, ...services.map(failWhenEnded), failWhenEngineEnds(engines)])
}

type Plan = Pick<LiveOptions, 'baseUrl' | 'signIn' | 'environment'> & {
  statusUrl: string
  environments: Record<ServiceName, Record<string, string>>
}

/** Chooses the usual ports, unless they are taken. */
async function planServices({ urls }: Engines, apiPort: number | undefined): Promise<Plan> {
  const port = apiPort ?? (await choosePort(defaultPorts.api))
  const otherPort = (preferred: number): Promise<number> => choosePort(preferred === port ? undefined : preferred)
  const settingsPort = await otherPort(defaultPorts.settings)
  const statusPort = await otherPort(defaultPorts.status)
  const signIn = {
    settingsUrl: `http://127.0.0.1:${settingsPort}`,
    secret: randomBytes(32).toString('base64url'),
  }
  const environment = { ...urls, ...onLoopback, PORT: String(port), ADMIN_PORT: '0' }
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    statusUrl: `http://127.0.0.1:${statusPort}/status`,
    signIn,
    environment,
    environments: {
      indexer: { ...environment, ADMIN_PORT: String(statusPort) },
      api: environment,
      settings: {
        ...environment,
        PORT: String(settingsPort),
        SETTINGS_URL: signIn.settingsUrl,
        ...signInEnvironment(signIn.secret),
      },
    },
  }
}

async function stopAll(services: readonly Service[], engines: Engines): Promise<void> {
  const servicesStopped = Promise.all(services.map(({ program }) => program.stop()))
  await within(servicesStopped, servicesFirstMs)
  await Promise.all([servicesStopped, engines.stop()])
}
