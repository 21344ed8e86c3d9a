import { readChanges } from '../../../docs/client/followChanges.ts'
import { useStarted } from '../../support/late.ts'
import { startLocalServer } from '../../support/localServer.ts'

const asked: string[] = []
const server = useStarted('the API', () =>
  startLocalServer(({ url = '' }, response) => {
    response.writeHead(200, { 'replica-watermark': '2026-11-21T10:00:00.000Z' })
    if (asked.push(url) === 1) response.write('{"id":"gone"}\n', () => response.destroy())
    else response.end(url.includes('includeDeleted=true') ? '{"id":"gone","deleted":true}\n' : '')
  }),
)

test('what a first answer told of before it broke off is handed over as deleted when the next one has it no more', async () => {
  const told: string[] = []
  const handlers = { onItem: ({ id }: { id: string }) => told.push(id), onDeleted: (id: string) => told.push(`-${id}`) }
  const source = { baseUrl: server.url, accountKey: 'rqp_acct_1', list: 'records' } as const
  const read = () => readChanges(source, undefined, handlers, AbortSignal.timeout(10_000))
  await expect(read()).rejects.toThrow('no answer')
  await read()
  expect(told).toEqual(['gone', '-gone'])
})
