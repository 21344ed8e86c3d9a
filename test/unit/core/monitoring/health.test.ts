import {
  type CheckOutcome,
  failed,
  Health,
  passed,
  renderHealth,
  untilHealthy,
} from '../../../../src/core/monitoring/health.ts'

const atMs = 1_000_000

test('every check is named with its result and its problem', async () => {
  const health = new Health(() => atMs)
  health.add({ redis: async () => passed, kafka: async () => failed('is away') })
  health.add({ elasticsearch: () => Promise.reject(new Error('refused')) })
  const results = await health.results()
  expect(health.isReady(results)).toBe(false)
  const failing = { kafka: { ok: false, problem: 'is away' }, elasticsearch: { ok: false, problem: 'refused' } }
  const checks = { redis: { ok: true }, ...failing }
  expect(JSON.parse(renderHealth(results, false))).toEqual({ status: 'not ready', checks })
})

test('the problem of a failed check has no content that it has read', async () => {
  const health = new Health(() => atMs)
  health.add({ elasticsearch: async () => JSON.parse('canary') })
  const [result] = await health.results()
  expect(result).toMatchObject(failed(expect.stringContaining('SyntaxError')))
  expect(JSON.stringify(result)).not.toContain('canary')
})

test('a check runs at most once a second, for any number of probes', async () => {
  let [nowMs, count] = [atMs, 0]
  const health = new Health(() => nowMs)
  health.add({
    counted: async () => {
      count++
      return passed
    },
  })
  await Promise.all([health.results(), health.results()])
  nowMs += 1_000
  await health.results()
  expect(count).toBe(1)
  nowMs += 1
  await health.results()
  expect(count).toBe(2)
})

test('a check that hangs is a problem within two seconds, is not started twice, and may still answer', async () => {
  const { promise, resolve } = Promise.withResolvers<CheckOutcome>()
  let [nowMs, count] = [atMs, 0]
  const health = new Health(() => nowMs)
  health.add({
    hanging: () => {
      count++
      return promise
    },
  })
  expect(await health.results()).toMatchObject([{ name: 'hanging', problem: 'has not answered for 2 s' }])
  nowMs += 5_000
  resolve(passed)
  expect(health.isReady(await health.results())).toBe(true)
  expect(count).toBe(1)
})

test('a failing check that is not decisive is reported, and does not change readiness', async () => {
  const health = new Health(
    () => atMs,
    (name) => name === 'process',
  )
  health.add({ process: async () => passed, redis: async () => failed('is away') })
  const results = await health.results()
  const isReady = health.isReady(results)
  const checks = { process: { ok: true }, redis: { ok: false, problem: 'is away' } }
  expect(JSON.parse(renderHealth(results, isReady))).toEqual({ status: 'ready', checks })
  expect(health.isReady([{ name: 'process', ...failed('is stopping') }])).toBe(false)
})

test('a start waits until all checks pass at the same time, or until it is stopped', async () => {
  let asked = 0
  const checks = {
    first: async () => (asked < 3 ? failed('is away') : passed),
    second: async () => (++asked < 2 ? Promise.reject(new Error('refused')) : passed),
  }
  await untilHealthy(checks, new AbortController().signal)
  expect(asked).toBe(4)
  const stop = new AbortController()
  const waiting = untilHealthy({ never: async () => failed('is away') }, stop.signal)
  stop.abort()
  await expect(waiting).rejects.toThrow('aborted')
})
