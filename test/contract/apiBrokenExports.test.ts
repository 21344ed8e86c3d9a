import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { useApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { queryData } from '../support/queryData.ts'
import { readToEnd } from '../support/raw.ts'

const team = 'acme'
const [ndjson, csv] = ['application/x-ndjson', 'text/csv']
const encodings = ['identity', 'gzip', 'br', 'zstd', 'deflate']

const api = useApi({ teams: [team], fill: (replica) => queryData(61).storeIn(replica), hasFaultyElasticsearch: true })

/** An export over HTTP/1.0, whose answer is as long as its connection: what came, and how the connection ended. */
function exportInOldHttp(port: number, encoding: string, accept = ndjson) {
  const socket = connect(port, '127.0.0.1')
  const headers = [`Authorization: Bearer ${api.key}`, `Accept: ${accept}`, `Accept-Encoding: ${encoding}`]
  socket.write(['GET /api/v1/records HTTP/1.0', ...headers, '', ''].join('\r\n'))
  return readToEnd(socket)
}

/** The reasons in the log why the answer to a request could not be sent. */
const reasonsOf = (id: unknown): unknown[] =>
  api.logLines.flatMap(({ requestId, msg, err }) =>
    requestId === id && msg === 'an answer could not be sent' ? [err] : [],
  )

const kinds = [ndjson, csv].flatMap((accept) => encodings.map((encoding) => [accept, encoding] as const))

describe.each(kinds)('an export as %s in %s that fails halfway', (accept, encoding) => {
  test('resets an HTTP/1.0 connection, which would look complete if it just ended', async () => {
    const held = api.hold()
    const exporting = exportInOldHttp(api.port, encoding, accept)
    await held.untilReached()
    held.fail()
    expect((await exporting).end).toBe('ECONNRESET')
    const { received, end } = await exportInOldHttp(api.port, encoding, accept)
    expect([received.split('\r\n', 1)[0], end]).toEqual(['HTTP/1.1 200 OK', 'end'])
  })

  test('breaks off over HTTP/1.1, and the reason is logged once, with the request id', async () => {
    const held = api.hold()
    const { received } = await api.open('/api/v1/records', { accept, 'accept-encoding': encoding })
    expect([received.statusCode, received.headers['transfer-encoding']]).toEqual([200, 'chunked'])
    const reading = readText(received)
    await held.untilReached()
    held.fail()
    await expect(reading).rejects.toThrow('aborted')
    const { 'x-request-id': id } = received.headers
    await eventually(() => reasonsOf(id).length > 0)
    await eventually(async () => (await api.replica.openContexts()) === 0)
    expect(reasonsOf(id)).toMatchObject([{ type: 'ElasticsearchUnavailable' }])
  })
})

test('an export whose key is revoked breaks off, whatever it waits for', async () => {
  const key = await api.replica.storeKey(team, { id: 'ends' })
  const held = api.hold()
  const exportAs = (each: string) => api.open('/api/v1/records', { accept: ndjson }, each)
  const [{ received: broken }, { received: other }] = await Promise.all([exportAs(key), exportAs(api.key)])
  const [end, whole] = [readText(broken).catch((error: Error) => error.message), readText(other)]
  await held.untilReached()
  await api.replica.storeKey(team, { id: 'ends', plaintext: key, state: 'revoked', revision: 2 })
  expect(await end).toBe('aborted')
  held.goOn()
  expect((await whole).split('\n').length).toBeGreaterThan(100)
  const { 'x-request-id': id } = broken.headers
  await eventually(() => reasonsOf(id).length > 0)
  expect(reasonsOf(id)).toMatchObject([{ message: 'its key is no longer accepted' }])
})

test('a process that stops resets the connection of an unfinished export', async () => {
  const stopping = await api.startAnother()
  const held = api.hold()
  const exporting = exportInOldHttp(stopping.port, 'identity')
  await held.untilReached()
  await stopping.close()
  expect((await exporting).end).toBe('ECONNRESET')
})
