import { connect, type Socket } from 'node:net'
import { toInstant } from '../../src/core/model/instant.ts'
import { createTestReplica } from '../support/replica.ts'
import { startBoundedApi } from './bystander.ts'
import { type Ask, storeTeam, submissionAt } from './largeRows.ts'

const bystander = 'bystander'
const ndjson = 'application/x-ndjson'
const someRows = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, at) => submissionAt(at, { data: { q: 'x'.repeat(bytes) } }))

/** Teams that read nothing of what they ask for, and what each of them asks for on how many connections: all that the process has room for. */
export type SlowReaders = {
  readonly name: string
  readonly teams: readonly string[]
  /** More than the kernel takes of a connection. */
  readonly rows: { readonly count: number; readonly bytes: number }
  readonly connections: number
  readonly requestsOnEach: number
  readonly asks: Pick<Ask, 'path' | 'accept'>
}

const teamsOf = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${name}-${at}`)

export const slowReaders: readonly SlowReaders[] = [
  {
    name: 'four teams read nothing of pages of 1.4 MB',
    teams: teamsOf('pages', 4),
    rows: { count: 100, bytes: 14_000 },
    connections: 8,
    requestsOnEach: 10,
    asks: { path: '/records?limit=100' },
  },
  {
    name: 'eight teams read nothing of exports of 14 MB',
    teams: teamsOf('exports', 8),
    rows: { count: 15, bytes: 900_000 },
    connections: 4,
    requestsOnEach: 1,
    asks: { path: '/records', accept: ndjson },
  },
]

/** An API process of its own, teams that read slowly, and another team. */
export async function openSlowStage() {
  const replica = await createTestReplica()
  await replica.completeAccountKeys()
  const keys = new Map<string, string>()
  const fill = async (name: string, count: number, bytes: number): Promise<void> => {
    keys.set(name, await replica.storeKey(name))
    await storeTeam(replica, { name, submissions: someRows(count, bytes) })
  }
  await fill(bystander, 20, 100)
  for (const { teams, rows } of slowReaders) for (const team of teams) await fill(team, rows.count, rows.bytes)
  await replica.publishWatermark(toInstant(Date.now()))
  const api = await startBoundedApi({ INDEX_PREFIX: replica.prefix, ANSWER_CACHE_BYTES: '1000000000' })
  const port = Number(new URL(api.url).port)
  const open = new Set<Socket>()
  let asked = 0
  const askUnread = (team: string, { asks: { path, accept = '*/*' }, requestsOnEach }: SlowReaders): void => {
    const headers = `Host: x\r\nAccept: ${accept}\r\nAuthorization: Bearer ${keys.get(team)}`
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    open.add(socket.once('close', () => open.delete(socket)))
    socket.pause().write(`GET /api/v1${path} HTTP/1.1\r\n${headers}\r\n\r\n`.repeat(requestsOnEach))
  }
  return {
    api,
    /** Asks for everything at once, and reads nothing. */
    begin: (each: SlowReaders): void => {
      for (const team of each.teams) for (let at = 0; at < each.connections; at++) askUnread(team, each)
    },
    /** How another team is answered who asks for the like, but nothing that was kept. */
    statusOfBystander: async ({ asks: { path, accept = '*/*' } }: SlowReaders): Promise<number> => {
      const url = new URL(`${api.url}/api/v1${path}`)
      url.searchParams.set('since', new Date(asked++).toISOString())
      const headers = { accept, authorization: `Bearer ${keys.get(bystander)}` }
      const answer = await fetch(url, { headers })
      await answer.arrayBuffer()
      return answer.status
    },
    end: (): void => {
      for (const socket of open) socket.destroy()
    },
    close: async (): Promise<void> => {
      for (const socket of open) socket.destroy()
      await api.end('SIGTERM')
      await replica.close()
    },
  }
}
