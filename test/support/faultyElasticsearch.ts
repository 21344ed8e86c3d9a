import { once } from 'node:events'
import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

/** A request on its way to Elasticsearch. */
export type Exchange = {
  readonly path: string
  readonly body: Buffer
  /** The response to the client; destroyed once the client has disconnected. */
  readonly response: ServerResponse
  /** Opens a request to Elasticsearch with the client's headers, without a body yet. */
  open(bodyBytes: number): ClientRequest
  /** Elasticsearch's answer to this request, or to the same with another body. */
  ask(body?: Buffer): Promise<Answer>
  reply(answer: Answer): void
}

/** Handles a request instead of forwarding it. */
export type Fault = (exchange: Exchange) => unknown

export type Injected = ReturnType<FaultyElasticsearch['inject']>

type Limits = { readonly times?: number; readonly when?: (exchange: Exchange) => boolean }

export type FaultyElasticsearch = Awaited<ReturnType<typeof startFaultyElasticsearch>>

export const passes: Fault = async (exchange) => exchange.reply(await exchange.ask())

/** Starts a proxy before the real Elasticsearch, which forwards byte for byte, except for injected faults. */
export async function startFaultyElasticsearch(target = process.env['ELASTICSEARCH_URL'] ?? '') {
  const agent = new Agent({ keepAlive: true })
  const injections = new Set<{ meets(exchange: Exchange): boolean; fault: Fault }>()
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on('error', () => response.destroy())
    const exchange = exchangeOf(target, agent, incoming, await buffer(incoming), response)
    const injection = [...injections].find(({ meets }) => meets(exchange))
    await (injection?.fault ?? passes)(exchange)
  }
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  /** Cuts all connections; new ones are refused until `accept`. */
  const refuse = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${port}`,
    /** Injects `fault` into requests whose path contains `path` and for which `when` is true: the first `times` of them. */
    inject: (path: string, fault: Fault, { times = Number.POSITIVE_INFINITY, when = () => true }: Limits = {}) => {
      let met = 0
      const injection = {
        fault,
        meets: (exchange: Exchange): boolean => {
          const isMet = met < times && exchange.path.includes(path) && when(exchange)
          if (isMet) met++
          return isMet
        },
      }
      injections.add(injection)
      return {
        /** The number of requests handled by the fault. */
        met: () => met,
        lift: () => injections.delete(injection),
      }
    },
    refuse,
    accept: () => listen(port),
    /** Removes all faults, and accepts connections again. */
    restore: async (): Promise<void> => {
      injections.clear()
      if (!server.listening) await listen(port)
    },
    close: async (): Promise<void> => {
      if (server.listening) await refuse()
      agent.destroy()
    },
  }
}

function exchangeOf(
  target: string,
  agent: Agent,
  incoming: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Exchange {
  const { method = 'GET', url = '/' } = incoming
  const open = (bodyBytes: number): ClientRequest => {
    const length = bodyBytes > 0 ? { 'content-length': bodyBytes } : {}
    return request(new URL(url, target), { agent, method, headers: { ...ofAnyLength(incoming.headers), ...length } })
  }
  return {
    path: url,
    body,
    response,
    open,
    ask: async (instead = body) => {
      const outgoing = open(instead.length)
      outgoing.end(instead)
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) }
    },
    reply: (answer) => {
      const length = method === 'HEAD' ? {} : { 'content-length': answer.body.length }
      response.writeHead(answer.status, { ...ofAnyLength(answer.headers), ...length })
      response.end(answer.body)
    },
  }
}

const ofAnyLength = (headers: IncomingHttpHeaders): IncomingHttpHeaders => {
  const { 'content-length': _length, 'transfer-encoding': _encoding, ...others } = headers
  return others
}
