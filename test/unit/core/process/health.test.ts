import { Health, isHealthy, renderHealth } from '../../../../src/core/process/health.ts'

const atMs = 1_000_000

test('every check is named with its result and its problem', async () => {
  const health = new Health(() => atMs)
  health.add({ redis: async () => undefined, kafka: async () => 'is away' })
  health.add({ elasticsearch: () => Promise.reject(new Error('refused')) })
  const results = await health.results()
  expect(isHealthy(results)).toBe(false)
  const failing = { kafka: { ok: false, problem: 'is away' }, elasticsearch: { ok: false, problem: 'refused' } }
  const checks = { redis: { ok: true }, ...failing }
  expect(JSON.parse(renderHealth(results))).toEqual({ status: 'not ready', checks })
})

test('a check that fails tells nothing of what it has read', async () => {
  const health = new Health(() => atMs)
  health.add({ elasticsearch: async () => JSON.parse('canary') })
  const [result] = await health.results()
  expect(result?.problem).toContain('SyntaxError')
  expect(result?.problem).not.toContain('canary')
})

test('however many ask, a check runs once a second', async () => {
  let [nowMs, count] = [atMs, 0]
  const health = new Health(() => nowMs)
  health.add({ counted: async () => void count++ })
  await Promise.all([health.results(), health.results()])
  nowMs += 1_000
  await health.results()
  expect(count).toBe(1)
  nowMs += 1
  await health.results()
  expect(count).toBe(2)
})

test('a check that hangs is a problem within two seconds, is not started twice, and may still answer', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>()
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
  resolve(undefined)
  expect(isHealthy(await health.results())).toBe(true)
  expect(count).toBe(1)
})
