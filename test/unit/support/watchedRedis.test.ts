import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { eventually } from '../../support/eventually.ts'
import { startWatchedRedis, type WatchedRedis } from '../../support/watchedRedis.ts'

/** Answers every chunk with a number, and keeps what has come. */
let carriedOut = ''
const target = createServer((socket) => {
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    carriedOut += chunk
    socket.write(`[${carriedOut.length}]`)
  })
})
let redis: WatchedRedis
let client: Socket
let heard: string

beforeAll(async () => {
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
})
beforeEach(async () => {
  carriedOut = ''
  heard = ''
  redis = await startWatchedRedis(`redis://127.0.0.1:${(target.address() as AddressInfo).port}`)
  client = connect(Number(new URL(redis.url).port), '127.0.0.1').setNoDelay()
  client.on('data', (chunk) => {
    heard += chunk
  })
  await once(client, 'connect')
})
afterEach(async () => {
  client.destroy()
  await redis.close()
})
afterAll(() => target.close())

const untilHeard = (text: string): Promise<void> => eventually(() => heard === text)

test('commands pass; one that is held reaches Redis once it is let go', async () => {
  client.write('GET a.')
  await untilHeard('[6]')
  const gate = redis.hold('MSET', 'command')
  client.write('MSET b.')
  await gate.untilReached()
  expect([carriedOut, heard]).toEqual(['GET a.', '[6]'])
  gate.open()
  await untilHeard('[6][13]')
})

test('a command whose answer is held is carried out, and its client does not hear of it', async () => {
  const gate = redis.hold('MSET', 'answer')
  client.write('MSET b.')
  await gate.untilReached()
  expect([carriedOut, heard]).toEqual(['MSET b.', ''])
  gate.open()
  await untilHeard('[7]')
})

test('a command in two pieces is held before its second one', async () => {
  const gate = redis.hold('MSET key', 'command')
  client.write('MSET ')
  await untilHeard('[5]')
  client.write('key')
  await gate.untilReached()
  expect(carriedOut).toBe('MSET ')
  gate.open()
  await untilHeard('[5][8]')
})

test('a command that is not due passes, the next one is held', async () => {
  const answers = [false, true]
  const gate = redis.hold('MSET', 'command', async () => answers.shift() ?? false)
  client.write('MSET a.')
  await untilHeard('[7]')
  client.write('MSET b.')
  await gate.untilReached()
  expect(carriedOut).toBe('MSET a.')
})

test('a held command never reaches Redis when its client is gone', async () => {
  const gate = redis.hold('MSET', 'command')
  client.write('MSET a.')
  await gate.untilReached()
  client.destroy()
  await eventually(async () => (await connections()) === 0)
  gate.open()
  await redis.close()
  expect(carriedOut).toBe('')
})

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => {
    target.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
