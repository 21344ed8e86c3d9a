import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { type Network, NetworkFailure } from '../../network.ts'
import { address } from './broker.ts'

/** A request of KafkaJS with the decoder of its response. */
type Exchange = {
  readonly request: { readonly apiName: string; encode(): Promise<{ readonly buffer: Buffer }> }
  readonly response: { parse(answer: unknown): unknown }
  readonly requestTimeout?: number | null
  readonly parameters: unknown
}
type Ask = (parameters: unknown) => Omit<Exchange, 'parameters'>
type Lookup = (apiKey: number, definition: unknown) => Ask
type KafkaJsBroker = { lookupRequest: Lookup; connect(): Promise<void> }

const load = createRequire(import.meta.url)
const RealBroker = load('kafkajs/src/broker') as new (options: object) => KafkaJsBroker
const { KafkaJSConnectionClosedError: ConnectionClosedError } = load('kafkajs/src/errors') as {
  KafkaJSConnectionClosedError: new (message: string, broker: typeof address) => Error
}
const apiKeys = Object.values(load('kafkajs/src/protocol/requests/apiKeys') as Record<string, number>)

/** API versions: all that KafkaJS supports. */
const versions = Object.fromEntries(apiKeys.map((key) => [key, { minVersion: 0, maxVersion: 99 }]))

/** A broker of KafkaJS whose requests and responses are not encoded to bytes. */
class AskedBroker extends RealBroker {
  override async connect(): Promise<void> {
    await super.connect()
    const { lookupRequest } = this
    this.lookupRequest = (apiKey, definition) => {
      const ask = lookupRequest(apiKey, definition)
      return (parameters) => ({ ...ask(parameters), parameters })
    }
  }
}

type Timeouts = { readonly connectionTimeoutMs: number; readonly requestTimeoutMs: number }
type Answerer = (apiName: string, request: unknown) => unknown

/** A connection that answers requests in order, and closes once one of them gets no response. */
class Connection {
  readonly #network: Network
  readonly #answer: Answerer
  readonly #timeouts: Timeouts
  /** Set while open; aborts pending requests when the connection is lost. */
  #open: AbortController | undefined
  #waiting = new Set<Promise<unknown>>()
  /** Settles after the newest request. */
  #last: Promise<void> = Promise.resolve()

  constructor(network: Network, answer: Answerer, timeouts: Timeouts) {
    this.#network = network
    this.#answer = answer
    this.#timeouts = timeouts
  }

  isConnected(): boolean {
    return this.#open !== undefined
  }

  getSupportAuthenticationProtocol(): boolean {
    return false
  }

  async authenticate(): Promise<void> {}

  async connect(): Promise<void> {
    try {
      await this.#network.call('kafka', 'connect', () => undefined, { timeoutMs: this.#timeouts.connectionTimeoutMs })
    } catch (error) {
      if (!(error instanceof NetworkFailure)) throw error
      if (error.kind === 'timeout') throw connectionError('Connection timeout')
      throw connectionError(`Connection error: ${error.message}`, 'ECONNREFUSED')
    }
    this.#open ??= new AbortController()
    this.#last = Promise.resolve()
  }

  async disconnect(): Promise<void> {
    this.#open = undefined
    await Promise.allSettled(this.#waiting)
  }

  async send(exchange: Exchange): Promise<unknown> {
    const { request, response, requestTimeout } = exchange
    const { apiName } = request
    const open = this.#open
    if (open === undefined) throw connectionError('Not connected')
    const timeoutMs = Math.max(this.#timeouts.requestTimeoutMs, requestTimeout ?? 0)
    const call = this.#network.call('kafka', apiName, this.#inTurn(exchange), { timeoutMs, signal: open.signal })
    this.#waiting.add(call)
    try {
      return await response.parse(await call)
    } catch (error) {
      if (!(error instanceof NetworkFailure)) throw error
      const reason = lost(error)
      if (this.#open === open) this.#open = undefined
      open.abort(reason)
      throw reason
    } finally {
      this.#waiting.delete(call)
    }
  }

  /** Delays a request until earlier ones on this connection were answered, as a broker does. */
  #inTurn(exchange: Exchange): () => Promise<unknown> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    return async () => {
      await before
      try {
        return await this.#answer(exchange.request.apiName, await parametersOf(exchange))
      } finally {
        resolve()
      }
    }
  }
}

/** The parameters of a request. Our patch of KafkaJS sets the isolation level of ListOffsets only while encoding. */
async function parametersOf({ request, parameters }: Exchange): Promise<unknown> {
  if (request.apiName !== 'ListOffsets') return parameters
  const { buffer } = await request.encode()
  return { ...(parameters as object), isolationLevel: buffer.readInt8(replicaIdBytes) }
}
const replicaIdBytes = 4

/** The error of KafkaJS, and our patch of it, for a connection with an unanswered request. */
const lost = (failure: NetworkFailure): Error =>
  failure.kind === 'timeout'
    ? connectionError(failure.message, 'ETIMEDOUT')
    : new ConnectionClosedError('Closed connection', address)

const connectionError = (message: string, code?: string): Error =>
  new kafkajs.KafkaJSConnectionError(message, {
    broker: `${address.host}:${address.port}`,
    ...(code !== undefined && { code }),
  })

/** The connections of a KafkaJS client to the broker; fetches, which wait, have a separate one. */
class ConnectionPool {
  readonly host = address.host
  readonly port = address.port
  readonly connectionTimeout: number
  readonly #connections: readonly [Connection, Connection]

  constructor(network: Network, answer: Answerer, timeouts: Timeouts) {
    this.connectionTimeout = timeouts.connectionTimeoutMs
    this.#connections = [new Connection(network, answer, timeouts), new Connection(network, answer, timeouts)]
  }

  isConnected(): boolean {
    return this.#connections.some((connection) => connection.isConnected())
  }

  setVersions(): void {}

  setSupportAuthenticationProtocol(): void {}

  async getConnection(index: 0 | 1 = 0): Promise<Connection> {
    const connection = this.#connections[index]
    if (!connection.isConnected()) await connection.connect()
    return connection
  }

  async send(exchange: Exchange): Promise<unknown> {
    const connection = await this.getConnection(exchange.request.apiName === 'Fetch' ? 1 : 0)
    return await connection.send(exchange)
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.disconnect()))
  }
}

/** The part of KafkaJS that creates brokers and connections. */
export type BrokerPool = {
  createBroker(options: object): KafkaJsBroker
  connectionPoolBuilder: { build(): Promise<PoolOfSockets | ConnectionPool> }
}
type PoolOfSockets = {
  readonly connectionTimeout: number
  readonly pool: readonly { readonly requestTimeout: number }[]
}

/** Connects KafkaJS with a broker through `network` instead of sockets, with the same timeouts. */
export function replaceSockets(brokers: BrokerPool, network: Network, answer: Answerer): void {
  const { connectionPoolBuilder } = brokers
  brokers.createBroker = (options) => new AskedBroker({ ...options, versions })
  brokers.connectionPoolBuilder = {
    build: async () => {
      const { connectionTimeout, pool } = (await connectionPoolBuilder.build()) as PoolOfSockets
      const requestTimeoutMs = pool[0]?.requestTimeout
      if (requestTimeoutMs === undefined) throw new Error('the connections of KafkaJS have moved')
      return new ConnectionPool(network, answer, { connectionTimeoutMs: connectionTimeout, requestTimeoutMs })
    },
  }
}
