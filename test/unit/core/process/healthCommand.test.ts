import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runCommand } from '../../../support/command.ts'

const servers: Server[] = []
/** Where `listener` listens, and how often it was asked. */
async function listen(listener: (asked: number) => RequestListener) {
  let asked = 0
  const server = createServer((request, response) => listener(++asked)(request, response))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: String((server.address() as AddressInfo).port), asked: () => asked }
}
afterAll(() => {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
})

const check = async (port: string): Promise<number> =>
  (await runCommand('src/core/process/healthCommand.ts', ['/readyz'], { ADMIN_PORT: port })).code

// Silence is waited for: together they take as long as the slowest.
test.concurrent.each([
  [200, 0],
  [503, 1],
])('what answers %i is judged at once: exit code %i', async (status, code) => {
  const { port, asked } = await listen(
    () =>
      ({ url }, response) =>
        response.writeHead(url === '/readyz' ? status : 404).end(),
  )
  expect(await check(port)).toBe(code)
  expect(asked()).toBe(1)
})

test.concurrent('what refuses connections is unhealthy', async () => {
  const { server, port } = await listen(() => () => undefined)
  server.close()
  await once(server, 'close')
  expect(await check(port)).toBe(1)
})

test.concurrent('what was silent for a moment is healthy', async () => {
  const { port } = await listen((asked) => (_, response) => {
    if (asked > 1) response.end()
  })
  expect(await check(port)).toBe(0)
})

test.concurrent('what stays silent is unhealthy; outside a container, nothing is killed', async () => {
  const { port, asked } = await listen(() => () => undefined)
  expect(await check(port)).toBe(1)
  expect(asked()).toBe(3)
})
