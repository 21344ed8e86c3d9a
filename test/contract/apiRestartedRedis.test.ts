import { join } from 'node:path'
import { type TestAnswer, useApi } from '../support/api.ts'
import { appendOnlyState, copyState } from '../support/appendOnlyState.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'

const team = 'team-1'
const watermark = '2026-11-21T10:00:00.000Z'
const endpoints = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms/a', '/api/v1/records/a']

let revision = 0
const engines = useStarted('Redis', () => startOwnEngines(['redis']))
const api = useApi({ watermark })
beforeAll(change)

/** What an indexer makes visible: a newer state of everything, and then new change tokens. */
async function change(): Promise<void> {
  revision++
  await api.replica.storeForms({ team, id: 'a', revision, entity: formEntity({ id: 'a', shareUrl: `at ${revision}` }) })
  const submission = submissionEntity({ id: 'a', reportUrl: `at ${revision}` })
  await api.replica.storeSubmissions({ team, id: 'a', revision, entity: submission })
  for (const type of ['forms', 'submissions'] as const) await api.replica.replaceChangeToken(`${type}/${team}`)
}

const get = (endpoint: string, etag = ''): Promise<TestAnswer> =>
  api.get(endpoint, { headers: { 'if-none-match': etag } })
const etags = (): Promise<string[]> =>
  Promise.all(endpoints.map(async (endpoint) => (await get(endpoint)).headers['etag'] ?? ''))

async function killAndRestore(olderState: string): Promise<void> {
  const redis = engines.engine('redis')
  redis.kill('SIGKILL')
  await redis.ended()
  await copyState(olderState, appendOnlyState(redis.dataFolder))
  await redis.start()
  await eventually(async () => (await get('/api/v1/forms')).status === 503 && (await readsRedis()))
  await api.replica.completeAccountKeys()
}

/** Both connections, that of the API and that of the api.replica, have found the Redis of now. */
const readsRedis = async (): Promise<boolean> => {
  const problems = await api.readiness()
  return problems.join() === 'account keys: is not complete' && api.replica.isConnected()
}

test('after Redis came back with an older state, no request gets 304 for an answer from before', async () => {
  const redis = engines.engine('redis')
  const olderState = join(redis.dataFolder, 'older.aof')
  const before = await etags()
  await copyState(appendOnlyState(redis.dataFolder), olderState)
  await change()
  const after = await etags()
  for (const [at, endpoint] of endpoints.entries()) {
    expect((await get(endpoint, after[at])).status).toBe(304)
    expect((await get(endpoint, before[at])).status).toBe(200)
  }

  await killAndRestore(olderState)
  // As an indexer does within a second: it begins at what it has published last.
  await api.replica.advanceWatermark(watermark)
  for (const [at, endpoint] of endpoints.entries())
    for (const kept of [before[at], after[at], `${before[at]}, ${after[at]}`]) {
      const { status, text, headers } = await get(endpoint, kept)
      expect([status, headers['replica-watermark']]).toEqual([200, watermark])
      expect(text).toContain(`"at ${revision}"`)
    }

  await api.replica.publishWatermark(watermark)
  const anew = await etags()
  await change()
  for (const [at, endpoint] of endpoints.entries())
    for (const kept of [before[at], after[at], anew[at]]) expect((await get(endpoint, kept)).status).toBe(200)
})
