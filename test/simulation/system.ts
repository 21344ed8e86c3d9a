import type { RequestListener } from 'node:http'
import inject from 'light-my-request'
import { Registry } from 'prom-client'
import type { CommandTools } from '../../indexer/engineCommand.ts'
import { rebuild } from '../../indexer/generations/rebuild.ts'
import { fillAsMember } from '../../indexer/generations/rebuildMembers.ts'
import { startIndexer } from '../../indexer/indexer.ts'
import { assembleApi } from '../../src/api/startApi.ts'
import { type Config, readConfig } from '../../src/core/config/config.ts'
import { createLog } from '../../src/core/monitoring/log.ts'
import type { Service } from '../../src/core/process/lifecycle.ts'
import { openKafka, openStores } from '../../src/core/process/openStores.ts'
import { untilConnected } from '../../src/core/redis/redis.ts'
import { AccountKeyManager } from '../../src/settings/accountKeyManager.ts'
import type { SimulatedEngines } from './engines/engines.ts'
import type { Program } from './history.ts'
import { SimulatedProcess } from './world/process.ts'
import { Violation, type World } from './world/world.ts'

const stopDeadlineMs = 9_000
const messageMs = 3

/** A simulated process of the product. */
export type Running = {
  readonly program: Program | 'settings'
  readonly process: SimulatedProcess
  /** Stops the process as SIGTERM does. */
  stop(): void
  /** Whether a rebuild has the lock of the switch. */
  isSwitching: boolean
  /** Whether a rebuild has switched, and only the removal of the former generation is left. */
  hasSwitched: boolean
}

export type RunningApi = Running & { readonly listener: RequestListener }

/** An HTTP response of the API. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request without a response. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

const answerDeadlineMs = 3_000

/** The product's processes and the engines that they share. */
export class System {
  readonly world: World
  readonly engines: SimulatedEngines
  readonly config: Config
  readonly #running: Running[] = []
  readonly #counts = new Map<string, number>()
  /** Whether an indexer has reported a log as replaced. */
  hasReplacedLog = false

  constructor(world: World, engines: SimulatedEngines, { keepsAnswers }: { readonly keepsAnswers: boolean }) {
    this.world = world
    this.engines = engines
    this.config = simulatedConfig(keepsAnswers)
  }

  /** The running processes of a program, oldest first. */
  running(program: Running['program']): readonly Running[] {
    return this.#running.filter((running) => running.program === program && !running.process.hasEnded)
  }

  startIndexer(): void {
    this.#start('indexer', startIndexer)
  }

  startApi(): void {
    this.#start('api', async (service, running) => {
      const { listener, close } = assembleApi(service, Date.now)
      service.release('waiting requests', async () => close())
      Object.assign(running, { listener })
    })
  }

  /** Runs a rebuild, and calls `onEnd` with its error, or undefined when it has succeeded. */
  startRebuild(onEnd: (error: unknown) => void): void {
    this.#startCommand('rebuild', rebuild, onEnd)
  }

  startRebuildMember(): void {
    this.#startCommand('member', fillAsMember, () => undefined)
  }

  #startCommand(
    program: Program,
    command: (tools: CommandTools) => Promise<void>,
    onEnd: (error: unknown) => void,
  ): void {
    this.#start(program, async (service, running) => {
      const { config, log, signal } = service
      const { elasticsearch, redis, kafka } = this.engines
      const connection = redis(config, () => undefined)
      const report = {
        step: (text: string) => {
          this.world.note(`${running.process.name}: ${text}`)
          running.isSwitching ||= text === 'switching'
          running.hasSwitched ||= text.endsWith('until its readers are done')
        },
        progress: () => undefined,
        end: () => undefined,
      }
      const run = async (): Promise<void> => {
        await untilConnected(connection, signal)
        await command({
          ...{ config, log, report, signal, clock: Date.now },
          source: kafka(config, log).openSource(),
          elasticsearch: elasticsearch(config),
          redis: connection,
        })
      }
      run()
        .then(() => onEnd(undefined), onEnd)
        .finally(() => running.process.kill())
    })
  }

  /** Starts the settings area without its pages: `use` gets its key manager. */
  startSettings(use: (keys: AccountKeyManager) => void): void {
    this.#start('settings', async (service) => {
      const { accountKeys: store } = openStores(service)
      const { sink } = openKafka(service)
      const { config: topics, log } = service
      const keepChange = async (): Promise<void> => undefined
      use(new AccountKeyManager({ store, sink, topics, keepChange, log, nowMs: Date.now }))
    })
  }

  /** Sends a request from a client process to an API process. Rejects with `NoAnswer` at a timeout. */
  request(api: RunningApi, client: SimulatedProcess, url: string, headers: Record<string, string>): Promise<Answer> {
    const { world } = this
    const name = `${client.name} → ${api.process.name} ${url}`
    const random = client.randomOfCallsTo('redis')
    return new Promise((resolve, reject) => {
      const cancel = world.schedule(answerDeadlineMs, undefined, client, () => reject(new NoAnswer(name)))
      const breakOff = (): void => {
        world.schedule(random.next() * messageMs, `${name}: broken off`, client, () => {
          cancel()
          reject(new NoAnswer(name))
        })
      }
      world.schedule(random.next() * messageMs, name, api.process, () => {
        inject(asNode(api.listener, breakOff), { method: 'GET', url, headers }).then(
          ({ statusCode: status, headers: received, payload: body }) => {
            const { etag, 'replica-watermark': watermark } = received
            world.schedule(
              random.next() * messageMs,
              `${name}: ${status} ${watermark ?? ''} ${etag ?? ''}`,
              client,
              () => {
                cancel()
                resolve({ status, headers: received as Record<string, string>, body })
              },
            )
          },
          // A response that fails after it has begun is cut off, with the error that ended it.
          breakOff,
        )
      })
    })
  }

  #start(program: Running['program'], start: (service: Service, running: Running) => Promise<unknown>): void {
    const count = (this.#counts.get(program) ?? 0) + 1
    this.#counts.set(program, count)
    const process = new SimulatedProcess(this.world, `${program}-${count}`)
    this.world.note(`${process.name} starts`)
    const stopping = new AbortController()
    const releasers: (() => Promise<unknown>)[] = []
    const fail = (error: unknown): void => {
      this.world.fail(
        new Violation('no process ends by a bug', `${process.name}: ${String((error as Error).stack ?? error)}`),
      )
    }
    const running: Running = {
      program,
      process,
      isSwitching: false,
      hasSwitched: false,
      stop: () => {
        if (process.hasEnded || stopping.signal.aborted) return
        this.world.note(`${process.name} is asked to stop`)
        process.run(() => {
          stopping.abort(new Error('stopped'))
          const released = releasers
            .reverse()
            .reduce<Promise<unknown>>(
              (before, release) => before.then(release).catch(() => undefined),
              Promise.resolve(),
            )
          const end = (): void => process.kill()
          setTimeout(end, stopDeadlineMs)
          released.then(end, end)
        })
      },
    }
    this.#running.push(running)
    const service: Service = {
      config: this.config,
      engines: this.engines,
      log: createLog({ name: process.name, level: 'info' }, { write: (line) => this.#noteLogLine(line) }),
      metrics: new Registry(),
      signal: stopping.signal,
      release: (_what, releaser) => releasers.push(releaser),
      fail,
    }
    process.run(() => start(service, running)).catch(fail)
  }

  #noteLogLine(line: string): void {
    this.world.note(line.trimEnd())
    this.hasReplacedLog ||= line.includes('logs were replaced since the generation was read from them')
  }
}

/** Adds to injected requests what those of Node have: header values as lists, and a connection that can be closed. */
const asNode =
  (listener: RequestListener, onClosed: () => void): RequestListener =>
  (request, response) => {
    const distinct = Object.entries(request.headers).map(([name, value]) => [name, [value].flat()])
    Object.defineProperty(request, 'headersDistinct', { value: Object.fromEntries(distinct) })
    request.socket.destroy = () => {
      onClosed()
      return request.socket
    }
    return listener(request, response)
  }

function simulatedConfig(keepsAnswers: boolean): Config {
  const environment = {
    ...(!keepsAnswers && { ANSWER_CACHE_BYTES: '0' }),
    ELASTICSEARCH_URL: 'http://elasticsearch:9200',
    KAFKA_BROKERS: 'kafka:9092',
    REDIS_URL: 'redis://redis:6379',
    RATE_LIMIT_PER_MINUTE: '1000000',
    // Low, so that deep pages occur in the small lists of a simulation.
    DEEP_PAGE_FROM: '4',
  }
  const read = readConfig(environment, ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'])
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.config
}
