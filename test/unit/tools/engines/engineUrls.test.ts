import { addressesOf, untilReachable } from '../../../../tools/engines/engineUrls.ts'
import { choosePort } from '../../../../tools/engines/ports.ts'

const { signal } = new AbortController()

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

test('the error for an unreachable engine leaves out the password', async () => {
  const failure = untilReachable('redis', `redis://:secret@127.0.0.1:${await choosePort()}`, {
    deadlineMs: 100,
    signal,
  })
  await expect(failure).rejects.toThrow(/^redis: nothing answers at 127\.0\.0\.1:\d+ \(REDIS_URL\)$/)
})
