import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { configOrExit } from '../../src/core/process/service.ts'
import { type Engines, engineNames, givenEngines, startEngines } from '../engines/engines.ts'
import { acquireLock, type Lock } from '../engines/lock.ts'
import { choosePort, portFree } from '../engines/ports.ts'
import { progressView } from '../engines/progress.ts'
import { within } from '../engines/waiting.ts'
import { removeDemoFile } from './demoFile.ts'
import { live } from './live.ts'
import { failWhenEnded, type Service, startService } from './services.ts'
import { type SignIn, signInEnvironment } from './signIn.ts'

export type DemoOptions = {
  /** How many submissions there are when the demo is ready. */
  submissions: number
  /** The API's; 3000, or any free one, unless named. */
  port?: number
  /** Holds data, logs and `demo.json`. */
  folder: string
  /** Where engines that are fetched are unpacked; `engines` in the folder unless named. */
  distributions?: string
}

/** The demo cannot run as it was asked to. */
export class WronglyAsked extends Error {
  /** EX_CONFIG of sysexits. */
  readonly exitCode = 78
}

const defaultPort = 3_000
const defaultSettingsPort = 3_001
const defaultStatusPort = 9_102
/** Nobody else is to find the sample's keys and sign-in in use. */
const onLoopback = { HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' }
/** Above it, engines that are fast under load win back what they take to start. */
const quickSubmissions = 100_000
/** The services stop before the engines they use, but nobody waits ten seconds for one that does not. */
const servicesFirstMs = 2_000

/**
 * Runs engines, indexer, API and a world that goes on, until `stopped` aborts; then nothing of it is left, within ten
 * seconds. Rejects when something cannot start or ends by itself, and with the signal's reason when stopped before it was
 * ready.
 */
export async function runDemo(options: DemoOptions, stopped: AbortSignal): Promise<void> {
  const { folder } = options
  const ownConfig = await configOrExit([])
  if (options.port !== undefined && !(await portFree(options.port))) {
    throw new WronglyAsked(`Port ${options.port} is taken: choose another one, or leave out --port`)
  }
  await mkdir(folder, { recursive: true })
  const lock = await lockFolder(folder)
  try {
    await removeDemoFile(join(folder, 'demo.json'))
    const engines = await startAllEngines(options, stopped)
    const services: Service[] = []
    const over = new AbortController()
    const signal = AbortSignal.any([stopped, over.signal])
    try {
      const port = options.port ?? (await choosePort(defaultPort))
      const baseUrl = `http://127.0.0.1:${port}/api/v1`
      const environment = { ...engines.urls, ...onLoopback, PORT: String(port), ADMIN_PORT: '0' }
      const settings = await planSettings(port)
      const statusPort = await choosePort(port === defaultStatusPort ? undefined : defaultStatusPort)
      const environments = {
        indexer: { ...environment, ADMIN_PORT: String(statusPort) },
        api: environment,
        settings: { ...environment, ...settings.environment },
      }
      process.stdout.write(
        `Starting the indexer, the API and the settings area; their logs and the engines' are in ${join(folder, 'logs')}\nHow far they are: http://127.0.0.1:${statusPort}/status\n`,
      )
      const logsFolder = join(folder, 'logs')
      const started = (['indexer', 'api', 'settings'] as const).map(async (name) => {
        services.push(await startService(name, { environment: environments[name], logsFolder, signal }))
      })
      await Promise.all(started)
      const config = { ...ownConfig, KAFKA_BROKERS: engines.urls.KAFKA_BROKERS.split(',') }
      const demo = live({
        ...options,
        config,
        baseUrl,
        signIn: settings.signIn,
        environment,
        engineUrls: engines.urls,
        signal,
      })
      await Promise.race([
        demo,
        ...services.map(failWhenEnded),
        ...engineNames.map((name) => failWhenLost(engines[name])),
      ])
    } finally {
      over.abort(new Error('the demo is over'))
      await removeDemoFile(join(folder, 'demo.json'))
      await stopAll(services, engines)
    }
  } finally {
    await lock.release()
  }
}

/** Where the settings area is, which must not be where the API is, and a secret of this demo to sign in with. */
async function planSettings(apiPort: number): Promise<{ signIn: SignIn; environment: Record<string, string> }> {
  const port = await choosePort(apiPort === defaultSettingsPort ? undefined : defaultSettingsPort)
  const signIn = { settingsUrl: `http://127.0.0.1:${port}`, secret: randomBytes(32).toString('base64url') }
  return {
    signIn,
    environment: {
      PORT: String(port),
      SETTINGS_URL: signIn.settingsUrl,
      ...signInEnvironment(signIn.secret),
    },
  }
}

async function lockFolder(folder: string): Promise<Lock> {
  const outcome = await acquireLock(join(folder, 'demo.lock'))
  if ('lock' in outcome) return outcome.lock
  throw new Error(`A demo runs already in ${folder}, as process ${outcome.holderPid}. Stop it first.`)
}

/** They start empty, so that what the demo tells of its data is all there is. */
async function startAllEngines(
  { folder, distributions, submissions }: DemoOptions,
  signal: AbortSignal,
): Promise<Engines> {
  const view = progressView(process.stdout)
  const place = distributions === undefined ? { folder } : { folder, distributions }
  const given = givenEngines(process.env)
  return await startEngines({
    ...place,
    clean: true,
    quick: submissions <= quickSubmissions,
    given,
    report: view.report,
    signal,
  }).finally(view.end)
}

/** Rejects when an engine that the demo started ends; waits for ever for one that it did not start. */
async function failWhenLost(engine: Engines['elasticsearch']): Promise<never> {
  const how = await (engine?.ended() ?? new Promise<never>(() => undefined))
  throw new Error(`${engine?.name} ${how}; its log is ${engine?.logPath}`)
}

async function stopAll(services: readonly Service[], engines: Engines): Promise<void> {
  const servicesGone = Promise.all(services.map(({ program }) => program.stop()))
  await within(servicesGone, servicesFirstMs)
  await Promise.all([servicesGone, engines.stop()])
}
