import type { RequestListener } from 'node:http'
import { startLocalServer } from '../../../support/localServer.ts'
import { runCommand } from '../../../support/programs.ts'

const servers: { close(): Promise<void> }[] = []
/** Where `listener` listens, and how often it was asked. */
async function listen(listener: (asked: number) => RequestListener, host?: string) {
  let asked = 0
  const server = await startLocalServer((request, response) => listener(++asked)(request, response), host)
  servers.push(server)
  return { port: String(server.port), asked: () => asked }
}
afterAll(() => Promise.all(servers.map((server) => server.close())))

const check = async (port: string, host = ''): Promise<number> =>
  (await runCommand('health', ['/readyz'], { ADMIN_PORT: port, ADMIN_HOST: host })).code

// Silence is waited for: together they take as long as the slowest.
test.concurrent.each([
  [200, 0],
  [503, 1],
])('a process that answers %i gives exit code %i without a second try', async (status, code) => {
  const judged: RequestListener = ({ url }, response) => response.writeHead(url === '/readyz' ? status : 404).end()
  const { port, asked } = await listen(() => judged)
  expect(await check(port)).toBe(code)
  expect(asked()).toBe(1)
})

test.concurrent('without ADMIN_PORT the command names the default ports', async () => {
  const { code, stderr } = await runCommand('health', ['/readyz'], {})
  expect([code, stderr]).toEqual([78, expect.stringMatching(/^ADMIN_PORT .* 9101 .* 9102 .* 9103 /)])
})

test.concurrent.each([
  ['of a process that is not ready', 503, 1],
  ['also of one that is ready', 200, 0],
])('the failing checks are printed, %s', async (_which, status, expected) => {
  const failing = { kafka: { ok: false, problem: 'does not answer' }, writer: { ok: false, problem: 'no progress' } }
  const checks = { redis: { ok: true }, ...failing }
  const { port } = await listen(() => (_, response) => response.writeHead(status).end(JSON.stringify({ checks })))
  const { code, stdout } = await runCommand('health', ['/readyz'], { ADMIN_PORT: port })
  expect([code, stdout]).toEqual([expected, 'kafka: does not answer\nwriter: no progress\n'])
})

test.concurrent.each([
  ['127.0.0.2', '127.0.0.2'],
  ['::1', '::1'],
  ['localhost', 'localhost'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])('the command connects to ADMIN_HOST=%s', async (host, listensOn) => {
  const { port, asked } = await listen(() => (_, response) => response.end(), listensOn)
  expect(await check(port, host)).toBe(0)
  expect(asked()).toBe(1)
})

test.concurrent('a process with ADMIN_PORT=0 is healthy as long as it runs', async () => {
  expect(await check('0')).toBe(0)
})

test.concurrent('a process that refuses connections is unhealthy', async () => {
  const { port, close } = await startLocalServer(() => undefined)
  await close()
  const { code, stdout } = await runCommand('health', ['/readyz'], { ADMIN_PORT: String(port) })
  expect([code, stdout]).toEqual([1, `http://127.0.0.1:${port}/readyz does not answer\n`])
})

test.concurrent('a process that is silent for a moment is healthy', async () => {
  const { port } = await listen((asked) => (_, response) => {
    if (asked > 1) response.end()
  })
  expect(await check(port)).toBe(0)
})

test.concurrent('a process that stays silent is unhealthy, and is not killed outside a container', async () => {
  const { port, asked } = await listen(() => () => undefined)
  expect(await check(port)).toBe(1)
  expect(asked()).toBe(3)
})
