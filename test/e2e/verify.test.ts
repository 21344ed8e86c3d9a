import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { aliasOf, type DocumentKind } from '../../src/core/elasticsearch/indices.ts'
import { digestOf } from '../../src/core/model/accountKey.ts'
import type { EntityId, TeamId } from '../../src/core/model/ids.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import { startSteadyWriter } from '../model/live.ts'
import { createCompactedTopics, shortRetentionMs } from '../support/compaction.ts'
import { accountKeyRecord } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { untilCommitted } from '../support/indexingProgress.ts'
import { closeAfterwards, useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Run, runCommand, startProgram } from '../support/programs.ts'
import { randomHistory, stateRecord } from '../support/randomHistory.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { createTopicsWith, documentTopics } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })
const folder = useFolder()
const team = 'planted' as TeamId
const revision = 5
const redis = useStarted('Redis', () => new Redis(process.env['REDIS_URL'] ?? ''), { forEachTest: true })

/** Runs the command as an operator does. */
const verify = (...args: string[]): Promise<Run> => runCommand('verify', args, pipeline.names)
const linesOf = ({ stdout }: Run): string[] => stdout.trim().split('\n').slice(0, -1)
const expectEqual = async (...args: string[]): Promise<void> => {
  const { code, stdout, stderr } = await verify(...args)
  const equal = expect.stringMatching(/^equal; compared \d+ documents and \d+ account keys/)
  expect([stdout, stderr, code]).toEqual([equal, expect.any(String), 0])
}

/** The differences that all shares name, sorted. The shares may run one after the other, or side by side on several machines. */
async function linesOfShares(count: number): Promise<string[]> {
  const lines: string[] = []
  for (let number = 0; number < count; number++) {
    const run = await verify('--share', `${number}/${count}`)
    const named = linesOf(run)
    expect([run.stderr, run.code]).toEqual([expect.any(String), named.some(isDifference) ? 1 : 0])
    lines.push(...named)
  }
  return lines.sort()
}
/** A newer state in the index than in the topic is noted, and is no difference. */
const isDifference = (line: string): boolean => !line.startsWith('newer')

const submission = (id: string) => stateRecord('submissions', `${team}/${id}`, revision)
const key = (id: string, changes: Parameters<typeof accountKeyRecord>[0] = {}) => ({
  key: `${team}/${id}`,
  value: accountKeyRecord({ id, name: id, digest: digestOf(id), expiresAt: null, ...changes }),
})

type Stored = { readonly version: number; readonly source: Record<string, unknown> }

const indexOf = (kind: DocumentKind): string => aliasOf(pipeline.names.INDEX_PREFIX, kind)
const idOf = (id: string) => ({ id: `${team}/${id}`, routing: team })

async function read(kind: DocumentKind, id: string): Promise<Stored> {
  const { _version, _source } = await pipeline.elasticsearch.get({ index: indexOf(kind), ...idOf(id) })
  return { version: _version ?? 0, source: _source as Stored['source'] }
}

/** Writes a document past the indexer. */
async function plant(kind: DocumentKind, id: string, { version, source }: Stored): Promise<void> {
  const written = { version, version_type: 'external_gte', refresh: true } as const
  await pipeline.elasticsearch.index({ index: indexOf(kind), ...idOf(id), ...written, document: source })
}

/** Replaces a document by an older one. Elasticsearch remembers the version of the removed document until a refresh, if it is told not to keep it longer. */
async function setBack(kind: DocumentKind, id: string, stored: Stored): Promise<void> {
  await pipeline.elasticsearch.indices.putSettings({ index: indexOf(kind), settings: { gc_deletes: '0s' } })
  await remove(kind, id)
  await eventually(async () => {
    await pipeline.elasticsearch.indices.refresh({ index: indexOf(kind) })
    return await plant(kind, id, stored).then(
      () => true,
      () => false,
    )
  })
}

async function remove(kind: DocumentKind, id: string): Promise<void> {
  await pipeline.elasticsearch.delete({ index: indexOf(kind), ...idOf(id), refresh: true })
}

test('a verification names every planted difference, and nothing else', async () => {
  const history = randomHistory(31, 600)
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(history.teams)
  await pipeline.produceHistory(history.records)
  const ids = Array.from({ length: 10 }, (_, at) => `s-${at}`)
  const { key: repeatedKey, value } = submission('repeated')
  const repeated = { key: repeatedKey, value: String(value).replace('"q1":"A"', '"q1":"B","q1":"A"') }
  await pipeline.produce('submissions', [...ids.map(submission), repeated, { key: `${team}/gone`, value: null }])
  await pipeline.produce('forms', [stateRecord('forms', `${team}/f-1`, revision)])
  const keys = ['k-lost', 'k-older', 'k-gone', 'k-revoked'].map((id) => key(id))
  await pipeline.produce('account-keys', [
    ...keys,
    { key: `${team}/k-gone`, value: null },
    key('k-revoked', { state: 'revoked', revision: 2 }),
  ])
  await untilCommitted(pipeline)
  await eventually(
    async () => (await indexer.metric('tidemark_records_total', 'account-keys')) === history.teams.length + 6,
  )
  await expectEqual()
  await expectEqual('--team', team)

  await remove('submissions', 's-0')
  await remove('submission-details', 's-1')
  await plant('submissions', 's-ghost', await read('submissions', 's-9'))
  await plant('submission-details', 's-ghost-2', await read('submission-details', 's-9'))
  const newer = await read('submissions', 's-4')
  await plant('submissions', 's-4', { ...newer, version: 9 })
  const { source: list } = await read('submissions', 's-5')
  await plant('submissions', 's-5', { version: revision, source: { ...list, status: 'pending' } })
  const { source: detail } = await read('submission-details', 's-6')
  await plant('submission-details', 's-6', { version: revision, source: { ...detail, serialNumber: 18 } })
  await remove('submissions', 'gone')
  await remove('forms', 'f-1')
  const names = redisKeys(pipeline.names.INDEX_PREFIX)
  const holder = (keyId: string) => JSON.stringify({ teamId: team, keyId, state: 'active', expiresAtMs: null })
  await redis.hset(names.accountKey(digestOf('k-ghost')), `${team}/k-ghost`, holder('k-ghost'))
  await redis.hset(names.accountKey(digestOf('k-revoked')), `${team}/k-revoked`, holder('k-revoked'))
  await redis.del(names.accountKey(digestOf('k-lost')))
  await redis.hdel(names.deletedKeys(team), 'k-gone')
  const stored = (await redis.hget(names.teamKeys(team), 'k-older')) ?? ''
  await redis.hset(names.teamKeys(team), 'k-older' as EntityId, stored.replace('"name":"k-older"', '"name":"other"'))

  const found = await verify()
  const expected = [
    /^key-accepted planted k-ghost \(account-keys\) active as planted\/k-ghost in Redis, no single live key in the topic has its digest$/,
    /^key-accepted planted k-revoked \(account-keys\) active .* in Redis, the topic says revoked/,
    /^key-deletion planted k-gone \(account-keys\)/,
    /^key-missing planted k-lost \(account-keys\)/,
    /^key-differs planted k-older \(account-keys\)/,
    /^unexpected planted s-ghost \(submissions\) revision 5 in the index, no record in the topic$/,
    /^unexpected-detail planted s-ghost-2 \(submission-details\)/,
    /^missing planted f-1 \(forms\) revision 5 in the topic$/,
    /^missing planted gone \(submissions\) a deletion in the topic$/,
    /^missing planted s-0 \(submissions\) revision 5 in the topic$/,
    /^missing-detail planted s-1 \(submission-details\)/,
    /^newer planted s-4 \(submissions\) revision 9 in the index, revision 5 in the topic$/,
    /^content planted s-5 \(submissions\)/,
    /^content-detail planted s-6 \(submission-details\)/,
  ]
  const unseen = expected.filter((line) => !linesOf(found).some((each) => line.test(each)))
  const unplanted = linesOf(found).filter((each) => !expected.some((line) => line.test(each)))
  expect({ unseen, unplanted }).toEqual({ unseen: [], unplanted: [] })
  expect(found.stdout).toMatch(
    /\n13 differences \(2 key-accepted, .*\); compared \d+ documents and \d+ account keys; noted: 1 newer\n$/,
  )
  expect(found.code).toBe(1)
  const ofTeam = await verify('--team', team)
  expect(linesOf(ofTeam)).toEqual(linesOf(found))
  expect(await linesOfShares(3)).toEqual(
    [
      ...linesOf(found).filter((line) => !line.startsWith('unexpected-detail')),
      ...['gone', 's-0', 's-ghost-2'].map(
        (id) => `unlisted-detail planted ${id} (submission-details) has no document in submissions`,
      ),
      'unlisted-detail planted f-1 (form-details) has no document in forms',
    ].sort(),
  )
  const asJson = await verify('--team', team, '--json')
  const numbers = { documents: expect.any(Number), accountKeys: expect.any(Number), uncommitted: expect.any(Number) }
  const missing = { kind: 'missing', key: `${team}/f-1`, where: 'forms', detail: 'revision 5 in the topic' }
  expect([asJson.code, JSON.parse(asJson.stdout)]).toEqual([
    1,
    {
      ...{ equal: false, ...numbers, counts: expect.objectContaining({ 'key-accepted': 2, missing: 3, newer: 1 }) },
      differences: expect.arrayContaining([missing]),
    },
  ])
  await expectEqual('--team', history.teams[0] ?? '')
})

test('all shares of a verification together compare an entity with records in two partitions once', async () => {
  await createTopicsWith(pipeline.kafka, documentTopics(pipeline), 3)
  await pipeline.startIndexer()
  const recordOf = (id: string, at: number, partition: number) => ({
    ...stateRecord('submissions', `${team}/${id}`, at),
    partition,
  })
  await pipeline.produce('submissions', [recordOf('moved', 1, 0), recordOf('older', 1, 0), recordOf('still', 1, 2)])
  await untilCommitted(pipeline)
  const before = await read('submissions', 'older')
  const detail = await read('submission-details', 'older')
  await pipeline.produce('submissions', [recordOf('moved', 2, 1), recordOf('older', 2, 1)])
  await untilCommitted(pipeline)
  expect(await linesOfShares(3)).toEqual([])

  await setBack('submissions', 'older', before)
  await setBack('submission-details', 'older', detail)
  // Written back by JavaScript's JSON, so that the bytes differ, too.
  expect((await linesOfShares(3)).filter((line) => line.startsWith('older'))).toEqual([
    'older planted older (submissions) revision 1 in the index, revision 2 in the topic',
    'older-detail planted older (submission-details) revision 1 in the index, revision 2 in the topic',
  ])
})

test('a verification reports no difference under 100 writes a second with late revisions and deletions', async () => {
  await pipeline.startIndexer()
  const history = randomHistory(32, 400)
  await pipeline.createKeys(history.teams)
  await pipeline.produceHistory(history.records)
  await untilCommitted(pipeline)
  const writer = closeAfterwards(startSteadyWriter(pipeline, { seed: 32, perSecond: 100, team: 'busy' }))
  for (let run = 0; run < 3; run++) {
    const before = writer.written()
    await eventually(() => writer.written() > before + 100)
    await expectEqual()
  }
})

test('neither a record that compaction removes meanwhile nor one that was appended twice is a difference', async () => {
  await createCompactedTopics(pipeline, documentTopics(pipeline), 2, shortRetentionMs)
  await pipeline.startIndexer()
  const stop = new AbortController()
  const writing = (async () => {
    for (let round = 1; !stop.signal.aborted; round++) {
      const ids = Array.from({ length: 30 }, (_, at) => `s-${at}`)
      const messages = ids.map((id) => stateRecord('submissions', `${team}/${id}`, round, { serialNumber: round }))
      await pipeline.produce('submissions', [...messages, ...messages.slice(0, 5)])
      await sleep(200)
    }
  })()
  closeAfterwards({
    stop: async () => {
      stop.abort()
      await writing
    },
  })
  await untilCommitted(pipeline)
  for (let run = 0; run < 2; run++) await expectEqual()
})

test('a verification that cannot judge ends with exit code 2 and the reason', async () => {
  const none = await verify()
  expect([none.stdout, none.code]).toEqual(['', 2])
  const indexer = await pipeline.startIndexer()
  await pipeline.createKeys(['acme'])
  await pipeline.produce('submissions', [submission('s-1')])
  await untilCommitted(pipeline)
  await eventually(async () => (await indexer.metric('tidemark_records_total', 'account-keys')) === 1)
  await expectEqual()
  const notJudged = (why: string) => ({ code: 2, stdout: '', stderr: expect.stringContaining(why) })
  const unknown = 'neither the topics nor the replica contain anything of the team nosuch'
  expect(await verify('--team', 'nosuch')).toMatchObject(notJudged(unknown))
  expect(await indexer.end('SIGTERM')).toBe(0)

  const prefix = pipeline.names.INDEX_PREFIX
  const complete = redisKeys(prefix).accountKeysComplete
  const runId = (await redis.get(complete)) ?? ''
  await redis.set(complete, 'another-run')
  expect(await verify()).toMatchObject(notJudged('not complete'))
  await redis.set(complete, runId)

  await pipeline.elasticsearch.indices.deleteAlias({ index: `${prefix}-forms-v*`, name: `${prefix}-forms` })
  expect(await verify()).toMatchObject(notJudged('no complete generation'))
  expect(await verify('--share', '3/3')).toMatchObject(notJudged('counted from 0'))
  expect(await verify('--team', 'a/b')).toMatchObject(notJudged('must be 1 to 128'))
})

test('a verification that is interrupted with Ctrl-C, also through npm, ends with exit code 2 and leaves no file behind', async () => {
  await pipeline.startIndexer()
  const records = Array.from({ length: 200 }, (_, at) => submission(`s-${at}`))
  await pipeline.produce('submissions', records)
  await untilCommitted(pipeline)
  const program = await startProgram('verify', { ...pipeline.names, TMPDIR: folder })
  await eventually(() => program.log().includes('is compared with the topics'))
  process.kill(program.pid, 'SIGINT')
  expect(await readdir(folder)).toEqual([])
  expect([await program.end('SIGINT'), program.log()]).toEqual([2, expect.stringContaining('stopped')])
})
