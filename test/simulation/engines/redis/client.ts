import { hash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import {
  commandTimeoutMs,
  connectionOver,
  connectTimeoutMs,
  type OnCommand,
  type RedisConnection,
  reconnectDelayMs,
} from '../../../../src/core/redis/redis.ts'
import { type Network, NetworkFailure } from '../../network.ts'
import { commands, type Reply } from './commands.ts'
import { ReplyError } from './keyspace.ts'
import type { Batch, Session } from './session.ts'

type Argument = string | number | readonly Argument[]
type Issued = {
  readonly name: string
  readonly args: readonly string[]
  resolve(reply: Reply): void
  reject(error: Error): void
}
/** `waiting` is empty once the commands have timed out, though the connection still delivers them. */
type Sent = Batch & { waiting: readonly Issued[] }

const names = [...Object.keys(commands), 'eval', 'evalsha', 'info']

/** Connects a process to a simulated Redis and keeps reconnecting, like `connectRedis`. */
export function connectSimulated(
  open: () => Session,
  network: Network,
  prefix: string,
  onCommand: OnCommand = () => undefined,
): RedisConnection {
  const client = new SimulatedClient(open, network, onCommand)
  // The client implements what the product uses of ioredis.
  return connectionOver(client as unknown as Redis, prefix, () => undefined)
}

/**
 * Behaves like ioredis with the options of `connectRedis`. Sends the commands of one event-loop turn together. A connection delivers
 * commands in order and once, like TCP: unanswered ones, even timed-out ones, are delivered again with the next batch.
 */
class SimulatedClient extends EventEmitter {
  readonly #open: () => Session
  readonly #network: Network
  readonly #onCommand: OnCommand
  #hasEnded = false
  /** Aborts when the connection ends. */
  #connection = new AbortController()
  #session: Session | undefined
  #sent: Sent[] = []
  #issued: Issued[] = []
  #batches = 0
  #failedAttempts = 0
  #reconnect: NodeJS.Timeout | undefined

  constructor(open: () => Session, network: Network, onCommand: OnCommand) {
    super()
    this.#open = open
    this.#network = network
    this.#onCommand = onCommand
    for (const name of names) Object.assign(this, { [name]: (...args: Argument[]) => this.#send(name, textsOf(args)) })
    this.#connect()
  }

  disconnect(): void {
    this.#hasEnded = true
    clearTimeout(this.#reconnect)
    this.#drop(new Error('Connection is closed.'))
  }

  /** Defines a script as a method, run by EVALSHA and loaded once. */
  defineCommand(name: string, { lua, numberOfKeys }: { readonly lua: string; readonly numberOfKeys: number }): void {
    const run = async (...args: Argument[]): Promise<unknown> => {
      const values = [String(numberOfKeys), ...textsOf(args)]
      try {
        return await this.#send('evalsha', [hash('sha1', lua), ...values])
      } catch (error) {
        if (!(error instanceof ReplyError && error.message.startsWith('NOSCRIPT'))) throw error
        return await this.#send('eval', [lua, ...values])
      }
    }
    Object.assign(this, { [name]: run })
  }

  #send(name: string, args: readonly string[]): Promise<unknown> {
    const startedMs = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const tell = (error?: Error): void => this.#onCommand(name, performance.now() - startedMs, error)
    promise.then(() => tell(), tell)
    if (this.#hasEnded) reject(new Error('Connection is closed.'))
    else if (this.#session === undefined)
      reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"))
    else {
      if (this.#issued.length === 0) queueMicrotask(() => this.#sendIssued())
      this.#issued.push({ name, args, resolve, reject })
    }
    return name === 'hgetall' ? promise.then(fieldsIn) : promise
  }

  #sendIssued(): void {
    const [session, sent, waiting] = [this.#session, this.#sent, this.#issued]
    this.#issued = []
    if (session === undefined || waiting.length === 0) return
    const batch: Sent = { number: ++this.#batches, commands: waiting, waiting, replies: undefined }
    sent.push(batch)
    const upToThis = (): Sent[] => sent.filter(({ number }) => number <= batch.number)
    const what = waiting.map(({ name }) => name).join(' ')
    this.#network
      .call('redis', what, () => session.deliver(upToThis()), { timeoutMs: commandTimeoutMs })
      .then(
        () => {
          // Ignore replies after the end of their connection; replies to a batch also answer earlier ones.
          if (session === this.#session) for (const command of upToThis()) this.#answer(command)
        },
        (error: Error) => this.#fail(session, batch, error),
      )
  }

  #answer({ number, waiting, replies = [] }: Sent): void {
    this.#sent.splice(
      this.#sent.findIndex((batch) => batch.number === number),
      1,
    )
    waiting.forEach(({ resolve, reject }, at) => {
      const reply = replies[at] ?? null
      if (reply instanceof ReplyError) reject(reply)
      else resolve(reply)
    })
  }

  #fail(session: Session, batch: Sent, error: Error): void {
    if (session !== this.#session) return
    if (error instanceof NetworkFailure && error.kind === 'timeout') {
      const { waiting } = batch
      batch.waiting = []
      for (const { reject } of waiting) reject(new Error('Command timed out'))
    } else if (error instanceof NetworkFailure && error.kind === 'refused') {
      // The batch may have been delivered and answered with a later one.
      const at = this.#sent.indexOf(batch)
      if (at < 0) return
      this.#sent.splice(at, 1)
      for (const { reject } of batch.waiting) reject(new ReplyError('BUSY Redis is busy running a script.'))
    } else this.#lose(error)
  }

  #connect(): void {
    this.#connection = new AbortController()
    const { signal } = this.#connection
    this.#network.call('redis', 'connect', this.#open, { timeoutMs: connectTimeoutMs, signal }).then(
      (session) => {
        this.#session = session
        this.#failedAttempts = 0
        this.emit('ready')
        const lost = (): void => {
          if (session === this.#session) this.#lose(new Error('read ECONNRESET'))
        }
        this.#network.call('redis', 'end of the connection', () => session.closed, { signal }).then(lost, lost)
      },
      (error: Error) => this.#lose(error),
    )
  }

  /** Handles a lost or failed connection: reconnects later. */
  #lose(error: Error): void {
    if (this.#hasEnded) return
    this.emit('error', error)
    this.#drop(
      new Error(
        'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.',
      ),
    )
    this.#reconnect = setTimeout(() => this.#connect(), reconnectDelayMs(++this.#failedAttempts))
  }

  #drop(error: Error): void {
    const unanswered = [...this.#sent.flatMap(({ waiting }) => waiting), ...this.#issued]
    this.#connection.abort()
    this.#session = undefined
    this.#sent = []
    this.#issued = []
    this.emit('close')
    for (const { reject } of unanswered) reject(error)
  }
}

const textsOf = (args: readonly Argument[]): string[] =>
  args.flatMap((arg) => (typeof arg === 'object' ? textsOf(arg) : [String(arg)]))

function fieldsIn(reply: Reply): Record<string, unknown> {
  const flat = reply as string[]
  return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at], flat[2 * at + 1]]))
}
