import { connect, type Socket } from 'node:net'
import { toInstant } from '../../src/core/model/instant.ts'
import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'

const [team, other] = ['team-1', 'team-2']
const pages = ['/api/v1/records?limit=100', '/api/v1/records?limit=99']
/** A kernel takes a few megabytes of each connection; a page has 1.4 MB. */
const [connections, requestsOnEach] = [8, 10]
const text = 'x'.repeat(14_000)

const submission = (of: string) => (_: unknown, at: number) => {
  const submittedAt = toInstant(Date.UTC(2026, 0, 1) + at)
  return { team: of, id: `s${at}`, entity: submissionEntity({ id: `s${at}`, submittedAt, data: { q: text } }) }
}
const api = useApi({
  teams: [team, other],
  submissions: [...Array.from({ length: 100 }, submission(team)), ...Array.from({ length: 20 }, submission(other))],
  watermark: toInstant(Date.parse('2026-11-23T08:00:00.000Z')),
})

const readers: Socket[] = []
afterEach(() => {
  for (const each of readers.splice(0)) each.destroy()
})

/** Asks for a page again and again on several connections, and reads nothing. */
function askAndRestUnread(page: string): void {
  for (let at = 0; at < connections; at++) {
    const socket = connect(api.port, '127.0.0.1').on('error', () => undefined)
    socket.pause()
    socket.write(`GET ${page} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.key}\r\n\r\n`.repeat(requestsOnEach))
    readers.push(socket)
  }
}
const statusOf = async (page: string, of = team, method = 'GET'): Promise<number> =>
  (await api.send(page, { key: api.keyOf(of), method })).status

test.each([
  ['was kept before', true],
  ['is made for all of them at once', false],
])(
  'an answer that %s counts against its team for each client that has not read it, and against no other team',
  async (_how, isKept) => {
    const [page = '', another = ''] = isKept ? pages : pages.toReversed()
    if (isKept) expect(await statusOf(page)).toBe(200)
    askAndRestUnread(page)
    await eventually(async () => (await statusOf(page)) === 429)
    expect(await statusOf(another)).toBe(429)
    expect(await statusOf(page, other)).toBe(200)
    // Without a body there is nothing to hold.
    expect(await statusOf(page, team, 'HEAD')).toBe(200)
    for (const each of readers.splice(0)) each.destroy()
    await eventually(async () => (await statusOf(page)) === 200)
  },
)
