import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { addressesOf, externalEngines, untilReachable } from '../../../../tools/engines/engineUrls.ts'
import { choosePort } from '../../../../tools/engines/ports.ts'

const { signal } = new AbortController()

test('an engine is external when its variable is not empty', () => {
  expect(externalEngines({ ELASTICSEARCH_URL: ' http://es:9200 ', KAFKA_BROKERS: '', PATH: '/bin' })).toEqual({
    ELASTICSEARCH_URL: 'http://es:9200',
  })
})

test.each([
  ['elasticsearch', 'https://user:secret@es-1,http://es-2:9201', ['es-1:443', 'es-2:9201']],
  ['kafka', 'one:9093, two', ['one:9093', 'two:9092']],
  ['redis', 'rediss://:secret@[::1]/0', ['::1:6379']],
] as const)('reads the addresses of %s in %s', (name, value, expected) => {
  expect(addressesOf(name, value).map(({ host, port }) => `${host}:${port}`)).toEqual(expected)
})

test('says which variable holds no address', () => {
  expect(() => addressesOf('kafka', 'one:9092,,')).toThrow('KAFKA_BROKERS')
})

test('one of the addresses is enough', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await expect(
    untilReachable('kafka', `127.0.0.1:1,127.0.0.1:${port}`, { deadlineMs: 10_000, signal }),
  ).resolves.toBeUndefined()
  server.close()
})

test('the error for an unreachable engine leaves out the password', async () => {
  const failure = untilReachable('redis', `redis://:secret@127.0.0.1:${await choosePort()}`, {
    deadlineMs: 100,
    signal,
  })
  await expect(failure).rejects.toThrow(/^redis: nothing answers at 127\.0\.0\.1:\d+ \(REDIS_URL\)$/)
})

test('the wait ends with the reason it is aborted for', async () => {
  const stop = new AbortController()
  const waiting = untilReachable('redis', `127.0.0.1:${await choosePort()}`, {
    deadlineMs: 10_000,
    signal: stop.signal,
  })
  const reason = new Error('told to stop')
  stop.abort(reason)
  await expect(waiting).rejects.toBe(reason)
})
