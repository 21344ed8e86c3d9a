import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runCommand } from '../../../support/command.ts'

let server: Server
let asked: number
async function listen(listener: RequestListener): Promise<string> {
  asked = 0
  server = createServer((request, response) => {
    asked++
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return String((server.address() as AddressInfo).port)
}
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

const check = async (port: string): Promise<number> =>
  (await runCommand('src/core/process/healthCommand.ts', ['/readyz'], { ADMIN_PORT: port })).code

test.each([
  [200, 0],
  [503, 1],
])('what answers %i is judged at once: exit code %i', async (status, code) => {
  const port = await listen(({ url }, response) => response.writeHead(url === '/readyz' ? status : 404).end())
  expect(await check(port)).toBe(code)
  expect(asked).toBe(1)
})

test('what refuses connections is unhealthy', async () => {
  const port = await listen(() => undefined)
  server.close()
  await once(server, 'close')
  expect(await check(port)).toBe(1)
})

test('what was silent for a moment is healthy', async () => {
  const port = await listen((_, response) => {
    if (asked > 1) response.end()
  })
  expect(await check(port)).toBe(0)
})

test('what stays silent is unhealthy; outside a container, nothing is killed', async () => {
  const port = await listen(() => undefined)
  expect(await check(port)).toBe(1)
  expect(asked).toBe(3)
})
