import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomToken } from '../../src/core/model/ids.ts'
import { counted, type Outcome } from './bystander.ts'

/** Where the API is, the key of the team that attacks, and that of one whose answers take long to count. */
export type Target = { readonly port: number; readonly key: string; readonly wordyKey: string }

/** Does harm `times` as much as the least; resolves once it is over. */
export type Scenario = {
  readonly name: string
  /** What may come of it. */
  readonly allowed: readonly string[]
  /** How long Elasticsearch takes for each search of the team that attacks; as long as it takes unless told. */
  readonly searchMs?: number
  run(target: Target, times: number): Promise<Outcome>
}

const atOnce = 50
const holdMs = 1_500
const slowMs = 3_000
const list = '/api/v1/records?limit=100'

export const scenarios: readonly Scenario[] = [
  {
    name: 'bad keys',
    allowed: ['401'],
    run: ({ port }, times) => flood(port, 1_000 * times, () => ({ key: `rqp_acct_${randomToken()}` })),
  },
  {
    name: 'malformed targets',
    allowed: ['400', '404', '414', '429', '431', '503'],
    run: ({ port, key }, times) =>
      flood(port, 300 * times, (at) => {
        const wrong = `/api/v1/forms?titleContains=%zz${at}&limit=0`
        const path = ['/api/v1/forms/%', '/%ff%', wrong, `/${'x'.repeat(9_000)}`]
        const headers = { 'x-long': at % 5 === 4 ? 'x'.repeat(20_000) : 'x' }
        return { key, headers, path: path[at % path.length] ?? '/' }
      }),
  },
  {
    name: 'more at once than anybody may',
    allowed: ['200', '429', '503'],
    run: ({ port, key }, times) => flood(port, 400 * times, () => ({ key, path: list }), 400 * times),
  },
  {
    name: 'pipelined requests',
    allowed: ['200', '429', '503'],
    run: ({ port, key }, times) =>
      together(10, async () => {
        const count = 20 * times
        const socket = await opened(port)
        let text = ''
        socket.on('data', (bytes) => {
          text += bytes.toString('latin1')
        })
        const asked = `GET /api/v1/forms?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
        const last = asked.replace('Host', 'Connection: close\r\nHost')
        socket.write(asked.repeat(count - 1) + last)
        await once(socket, 'close')
        return text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []
      }),
  },
  {
    name: 'readers who read nothing',
    allowed: ['held'],
    run: ({ port, key }, times) =>
      together(40 * times, async (at) => {
        const socket = await opened(port)
        socket.pause()
        const accept = at % 2 === 0 ? 'application/x-ndjson' : '*/*'
        const path = at % 2 === 0 ? '/api/v1/records' : list
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\nAuthorization: Bearer ${key}\r\n\r\n`)
        return await held(socket)
      }),
  },
  {
    name: 'requests that wait for what never comes, and disconnect',
    allowed: ['held'],
    run: async ({ port, key }, times) => {
      const feed = `http://127.0.0.1:${port}/api/v1/record-changes`
      const latest = await fetch(`${feed}?cursor=latest`, { headers: { authorization: `Bearer ${key}` } })
      const { cursor } = (await latest.json()) as { cursor: string }
      const path = `/api/v1/record-changes?cursor=${cursor}`
      return await together(400 * times, async () => {
        const socket = await opened(port)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nPrefer: wait=60\r\nAuthorization: Bearer ${key}\r\n\r\n`)
        return await held(socket)
      })
    },
  },
  {
    name: 'writers who never finish',
    allowed: ['held'],
    run: ({ port }, times) =>
      together(200 * times, async () => {
        const socket = await opened(port)
        socket.write('GET /api/v1/forms HTTP/1.1\r\nHost: x\r\nX-Slow: ')
        return await held(socket)
      }),
  },
  {
    name: 'idle connections',
    allowed: ['held'],
    run: ({ port }, times) => together(1_000 * times, async () => await held(await opened(port))),
  },
  {
    name: 'requests cut in the middle',
    allowed: ['cut'],
    run: ({ port, key }, times) =>
      together(300 * times, async (at) => {
        const socket = await opened(port)
        const asked = `GET ${list} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
        socket.write(at % 2 === 0 ? asked : asked.slice(0, at % asked.length))
        await sleep(at % 20)
        socket.destroy()
        return ['cut']
      }),
  },
  {
    name: 'one team whose searches take three seconds',
    allowed: ['200', '429', '503'],
    searchMs: slowMs,
    run: ({ port, key }, times) => flood(port, 150 * times, () => ({ key, path: list }), 150 * times),
  },
  {
    name: 'queries of thousands of parameters',
    allowed: ['200', '400', '429', '503'],
    run: ({ port, key }, times) =>
      flood(port, costly.length * minute * times, (at) => ({ key, path: ofMinute(costly, at) }), minute),
  },
  {
    name: 'pages of thousands of parameters, without a key',
    allowed: ['200'],
    run: ({ port }, times) =>
      flood(
        port,
        minute * times,
        (at) => {
          const path = ['/', '/explore'][at % 2] ?? '/'
          return { path: `${path}?${'&x'.repeat(4_000)}`, headers: { accept: 'text/html' } }
        },
        minute,
      ),
  },
  {
    name: 'headers as long as they may be',
    allowed: ['200', '429', '503'],
    run: ({ port, key }, times) =>
      flood(
        port,
        longHeaders.length * minute * times,
        (at) => {
          const name = ofMinute(longHeaders, at)
          return { key, headers: { prefer: 'wait=0', [name]: `"${'a", "'.repeat(3_000)}` } }
        },
        minute,
      ),
  },
  {
    name: 'small queries all the time, beside heavy ones of another team',
    allowed: ['200', '429', '503', 'heavy 200'],
    searchMs: 100,
    run: async ({ port, key, wordyKey }, times) => {
      const path = (at: number): string => `/api/v1/records?limit=1&minScore=-${at}`
      const over = new AbortController()
      const small = flood(port, 10_000 * times, (at) => ({ key, path: path(at) }), minute, over.signal)
      const heavy = flood(port, 2, (at) => ({ key: wordyKey, path: `${countsOfAnswers}&minScore=-${at}` }), 1)
      const outcome = Object.entries(await heavy).map(([status, count]) => [`heavy ${status}`, count])
      over.abort()
      return { ...(await small), ...Object.fromEntries(outcome) }
    },
  },
]

/** A key may ask so often in a minute, and so for all of it at once. */
const minute = 120

/** The same for all requests of a minute's allowance. */
const ofMinute = (some: readonly string[], at: number): string => some[Math.floor(at / minute) % some.length] ?? ''

/** Parts of a query, each another one, up to the longest URL. */
function queryOf(partOf: (at: string) => string): string {
  let text = ''
  for (let at = 0; text.length < 8_000; at++) text += partOf(at.toString(36))
  return text
}

const costly = [
  `/api/v1/records?${queryOf((at) => `${at}&`)}`,
  `/api/v1/records?${queryOf((at) => `answer.${at}=&`)}`,
  `/api/v1/records?${queryOf((at) => `answer.q=${at}&`)}`,
  `/api/v1/records?fields=${queryOf((at) => `data.${at},`)}`,
  `/api/v1/records?fields=id${Array.from({ length: 99 }, (_, at) => `,data.${at}`).join('')}`,
  `/api/v1/forms?titleContains=${'%ED%95%9C%20'.repeat(100)}`,
  `/api/v1/record-counts?by=day&timeZone=${'a-'.repeat(4_000)}`,
]
const longHeaders = ['if-none-match', 'accept', 'accept-encoding', 'prefer', 'cookie', 'x-nobody']
const countsOfAnswers = '/api/v1/record-counts?by=answer&code=open'

type Asked = { readonly key?: string; readonly path?: string; readonly headers?: Readonly<Record<string, string>> }

/** Sends so many requests, some at a time. */
async function flood(
  port: number,
  count: number,
  ask: (at: number) => Asked,
  parallel = atOnce,
  over?: AbortSignal,
): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: parallel })
  let next = 0
  const statuses: string[] = []
  const work = async (): Promise<void> => {
    while (next < count && over?.aborted !== true) statuses.push(await statusOf(port, agent, ask(next++)))
  }
  await Promise.all(Array.from({ length: Math.min(parallel, count) }, work))
  agent.destroy()
  return counted(statuses)
}

function statusOf(port: number, agent: Agent, { key, path = list, headers }: Asked): Promise<string> {
  return new Promise((resolve) => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const sent = request({ port, path, agent, headers: { ...headers, ...authorization } })
    sent.on('error', () => resolve('no answer'))
    sent.on('response', (response) => {
      response.resume()
      response.on('error', () => resolve('no answer'))
      response.on('end', () => resolve(String(response.statusCode)))
    })
    sent.end()
  })
}

async function together(count: number, each: (at: number) => Promise<readonly string[]>): Promise<Outcome> {
  return counted((await Promise.all(Array.from({ length: count }, (_, at) => each(at)))).flat())
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Keeps a connection for a moment; whether it was kept by the other side too. */
async function held(socket: Socket): Promise<readonly string[]> {
  await sleep(holdMs)
  const isHeld = !socket.destroyed
  socket.destroy()
  return [isHeld ? 'held' : 'dropped']
}
