import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { followAll } from '../support/chaosFollowers.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { Gate } from '../support/gate.ts'
import { untilServes } from '../support/indexingProgress.ts'
import { endingToo, useStarted } from '../support/late.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import { seeded } from '../support/random.ts'
import { type HistoryRecord, randomHistory, stateRecord } from '../support/randomHistory.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { documentTopics, withAdmin } from '../support/topics.ts'

jest.setTimeout(900_000)
const hourMs = 3_600_000
const scale = Number(process.env['CHAOS_SCALE'] ?? '1')
const seed = Number(process.env['CHAOS_SEED'] ?? '1')

const clockFile = join(useFolder(), 'broker-clock')
const setBroker = (offset: string): Promise<void> => writeFile(clockFile, `${offset}\n`)
useStarted('the engines', async () => {
  await setBroker('+0')
  return await startOwnEngines(process.env['CHAOS_FAKETIME'] === '1' ? ['kafka', 'redis'] : ['redis'], {
    adapt: (definition) =>
      definition.kind !== 'kafka'
        ? definition
        : {
            ...definition,
            prepare: async (port, signal) => {
              const command = await definition.prepare(port, signal)
              const env = {
                ...command.env,
                LD_PRELOAD: '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
                FAKETIME_TIMESTAMP_FILE: clockFile,
                FAKETIME_NO_CACHE: '1',
                FAKETIME_DONT_FAKE_MONOTONIC: '1',
                DONT_FAKE_MONOTONIC: '1',
              }
              return { ...command, env }
            },
          },
  })
})
const pipeline = usePipeline({ forEachTest: true })
const skewFile = join(useFolder(), 'skew.json')
const otherSkewFile = join(useFolder(), 'skew.json')
const preload = `--import=${import.meta.dirname}/../support/skewedClock.ts`
const clocksOf = (file: string) => ({ SKEW_FILE: file, NODE_OPTIONS: preload })
const skew = (file: string, ownMs: number, redisMs: number): Promise<void> =>
  writeFile(file, JSON.stringify({ ownMs, redisMs }))
const random = seeded(seed)
const said: string[] = []
const say = (line: string): void => {
  said.push(line)
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

async function started(indexerSettings: readonly Record<string, string>[], teams: readonly string[]) {
  const indexers: Program[] = []
  for (const settings of indexerSettings) indexers.push(await pipeline.startIndexer(settings))
  await pipeline.createKeys(teams)
  const api = await pipeline.startApi()
  await pipeline.produce('forms', [{ key: 'acme/none', value: null }])
  await eventually(async () => (await pipeline.get(api, 'acme', '/api/v1/form-changes')).status === 200)
  const all = endingToo(followAll(pipeline, api.url, teams))
  return { indexers, api, all }
}

async function rebuilt(settings = {}, whileRunning?: () => Promise<unknown>): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const rebuild = await startProgram('rebuild', { ...pipeline.names, ...settings })
    await whileRunning?.()
    const outcome = await Promise.race([untilServes(rebuild).catch((error: Error) => error), rebuild.ended()])
    if (typeof outcome === 'number' && /serves/.test(rebuild.log())) {
      await rebuild.end('SIGKILL')
      return `rebuilt at attempt ${attempt}`
    }
    await rebuild.end('SIGKILL')
    say(`rebuild attempt ${attempt}: ${rebuild.log().slice(-300)}`)
    if (attempt === 5) throw new Error(`no rebuild: ${rebuild.log()}`)
  }
}

test('1, 2, 3: owners are frozen, with bulks that arrive late; every clock is an hour off; partitions are added; generations switch', async () => {
  const history = randomHistory(700 + seed, Math.floor(2_000 * scale))
  const faulty = endingToo(await startFaultyElasticsearch())
  await skew(skewFile, 0, 0)
  await skew(otherSkewFile, 0, 0)
  const { indexers, api, all } = await started(
    [{ ...clocksOf(skewFile), ELASTICSEARCH_URL: faulty.url }, clocksOf(otherSkewFile)],
    history.teams,
  )
  const [first, second] = indexers as [Program, Program]
  let taken = 0
  const records: HistoryRecord[] = []
  const produce = async (count: number, pauseMs = 0): Promise<void> => {
    for (let left = count; left > 0; left -= 25) {
      const some = history.records.slice(taken, taken + Math.min(25, left))
      taken += some.length
      records.push(...some)
      await pipeline.produceHistory(some)
      if (pauseMs > 0) await sleep(pauseMs)
    }
  }
  const freezes = async (program: Program, forMs: number, meanwhile: () => Promise<unknown>): Promise<void> => {
    const gate = new Gate()
    // Bulks of the first indexer reach Elasticsearch only after it was thawed.
    const held =
      program === first
        ? faulty.inject('/_bulk', async (exchange) => {
            await gate.pass()
            exchange.reply(await exchange.ask())
          })
        : undefined
    const writing = produce(100, 20)
    await sleep(50 + random.below(600))
    process.kill(program.pid, 'SIGSTOP')
    say(`frozen ${program === first ? 'first' : 'second'} for ${forMs} ms`)
    await writing
    const begunMs = Date.now()
    await meanwhile()
    await sleep(Math.max(0, forMs - (Date.now() - begunMs)))
    process.kill(program.pid, 'SIGCONT')
    held?.lift()
    gate.open()
    await produce(75, 30)
  }
  await produce(200)
  await all.untilTrue(records)
  say('start is followed')
  await freezes(first, 25_000, () => produce(150, 50))
  await skew(skewFile, hourMs, 0)
  await skew(otherSkewFile, -hourMs, -hourMs)
  await freezes(second, 20_000, () => produce(100, 50))
  await skew(skewFile, hourMs, hourMs)
  await skew(otherSkewFile, hourMs, hourMs)
  await produce(50)
  if (process.env['CHAOS_FAKETIME'] === '1') await setBroker('-3600')
  await produce(100, 20)
  if (process.env['CHAOS_FAKETIME'] === '1') await setBroker('+3600')
  await produce(100, 20)
  const [, submissions] = documentTopics(pipeline)
  await freezes(first, Math.floor(90_000 * scale), async () => {
    const adding = (): Promise<unknown> =>
      withAdmin(pipeline.kafka, (admin) =>
        admin.createPartitions({ topicPartitions: [{ topic: submissions, count: 7 }] }),
      )
    say(await rebuilt(clocksOf(skewFile), () => adding().catch(() => undefined)))
    await produce(100, 20)
    // Records of other keys than before lie in each of the partitions now.
    const added = Array.from({ length: 28 }, (_, at) => stateRecord('submissions', `acme/added-${at}`, 1))
    records.push(...added)
    // A producer that is connected already does not know of the new partitions.
    const sending = pipeline.kafka.producer()
    await sending.connect()
    const messages = added.map(({ key, value }, at) => ({ key, value, partition: at % 7 }))
    await sending.send({ topic: submissions, messages })
    await sending.disconnect()
    await produce(100, 20)
  })
  await skew(skewFile, 0, 0)
  await skew(otherSkewFile, 0, 0)
  if (process.env['CHAOS_FAKETIME'] === '1') await setBroker('+0')
  await produce(100, 20)
  say(await rebuilt())
  await produce(50)
  await all.untilTrue(records)
  const said = await fetch(`${first.adminUrl}/readyz`).then((answer) => answer.text())
  say(`all followed: ${taken} records, ${all.answers()} walks, expired ${all.expired()}; ready: ${said.slice(0, 300)}`)
  expect(all.problems()).toEqual([])
  expect(all.expired()).toBe(0)
  const { headers } = await pipeline.get(api, 'acme', '/api/v1/forms?limit=1')
  say(`watermark ${headers.get('replica-watermark')}`)
  await all.stop()
})

test('5: a dead letter is the newest record of each partition through two rebuilds', async () => {
  const teams = ['acme']
  const { indexers, api, all } = await started([{}, {}], teams)
  const records: HistoryRecord[] = Array.from({ length: 40 }, (_, at) => stateRecord('submissions', `acme/s${at}`, 1))
  await pipeline.produceHistory(records)
  const broken = Array.from({ length: 4 }, (_, partition) => ({
    ...{ key: `acme/s${partition}`, value: '{"revision":7}', partition },
  }))
  await pipeline.produce('submissions', broken)
  await pipeline.produce('forms', broken)
  await pipeline.deadLetters(8)
  for (const turn of [1, 2]) {
    const began = Date.now()
    say(`${await rebuilt()} after ${Date.now() - began} ms`)
    const change = stateRecord('submissions', `acme/turn-${turn}`, 1)
    records.push(change)
    await pipeline.produceHistory([change])
    await all.untilTrue(records)
    const askedAtMs = Date.now()
    await eventually(async () => {
      const { headers } = await pipeline.get(api, 'acme', '/api/v1/forms?limit=1')
      return Date.parse(headers.get('replica-watermark') ?? '') > askedAtMs
    })
    for (const each of indexers) await untilReady(each)
    await pipeline.produce('submissions', broken)
    await pipeline.produce('forms', broken)
    await pipeline.deadLetters(8 + 8 * turn)
  }
  expect([all.problems(), all.expired()]).toEqual([[], 0])
  await all.stop()
})

/** Every key with its value and the rest of its life, to be put back. */
async function takeState(redis: Redis) {
  const names = (await redis.keys('*')) as string[]
  const found = await Promise.all(
    names.map(async (name) => ({ name, dump: await redis.dumpBuffer(name), ttl: await redis.pttl(name) })),
  )
  return found
}

async function putBack(redis: Redis, state: Awaited<ReturnType<typeof takeState>>): Promise<void> {
  const transaction = redis.multi().flushall()
  for (const { name, dump, ttl } of state) if (dump !== null) transaction.restore(name, Math.max(0, ttl), dump)
  await transaction.exec()
}

test('4: Redis is emptied or set back after the n-th write of a switch and of publishing, for every n', async () => {
  const teams = ['acme', 'b.team']
  const { all, api } = await started([{}, {}], teams)
  const redis = endingToo(new Redis(process.env['REDIS_URL'] ?? ''))
  const watching = endingToo(new Redis(process.env['REDIS_URL'] ?? ''))
  const monitor = endingToo(await watching.monitor())
  const records: HistoryRecord[] = []
  let revision = 0
  const change = async (): Promise<void> => {
    revision++
    const some = teams.flatMap((team) => [
      stateRecord('submissions', `${team}/s${revision % 9}`, revision % 7 === 0 ? null : revision),
      stateRecord('forms', `${team}/f${revision % 5}`, revision),
      stateRecord('submissions', `${team}/only-${revision}`, 1),
    ])
    // A deletion is for good.
    const alive = some.filter(({ key }) => !dead.has(String(key)))
    for (const { key, value } of alive) if (value === null) dead.add(String(key))
    records.push(...alive)
    await pipeline.produceHistory(alive)
  }
  const dead = new Set<string>()
  const writes = /^(evalsha|eval|set|hset|del|pexpire)$/i
  let [count, target] = [0, Number.POSITIVE_INFINITY]
  let act: () => Promise<unknown> = async () => undefined
  let acting: Promise<unknown> = Promise.resolve()
  let seen: string[] = []
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source === 'lua' || !writes.test(args[0] ?? '')) return
    const what = args.join(' ')
    // Scripts of the indexers and the rebuild name the lock, or what they publish; those of the API name a team's key.
    if (!/visible-positions|:serving|switch-lock|read-logs/.test(what)) return
    // Reads of the API.
    if (args.some((each) => /:(change-token|visible-positions:\w+):$/.test(each))) return
    count++
    seen.push(`${count} ${what.slice(0, 50)}…`)
    if (count === target) acting = act()
  })
  const most = Math.floor(Number(process.env['CHAOS_STEPS'] ?? '24'))
  let switches = 0
  for (let n = 1; n <= most; n++) {
    for (let at = 0; at < 4; at++) await change()
    const older = await takeState(redis)
    await change()
    const how = n % 2 === 0 ? 'emptied' : 'set back'
    act = n % 2 === 0 ? () => redis.flushall() : () => putBack(redis, older)
    target = Number.POSITIVE_INFINITY
    const rebuild = await startProgram('rebuild', pipeline.names)
    await eventually(() => rebuild.log().includes('\nswitching') || rebuild.log().startsWith('switching'))
    ;[count, seen, target] = [0, [], n]
    for (let at = 0; at < 6; at++) await change()
    const outcome = await Promise.race([
      eventually(() => /generation \d+ serves/.test(rebuild.log())).then(
        () => 'serves',
        () => 'hangs',
      ),
      rebuild.ended().then((code) => `ended ${code}`),
    ])
    await eventually(() => count >= n)
    await acting
    if (outcome === 'serves') switches++
    await sleep(random.below(1_500))
    await change()
    const aliasMoved = await Promise.race([
      rebuild.ended().then((code) => `ended ${code}`),
      sleep(3_000).then(() => 'goes on'),
    ])
    await rebuild.end('SIGKILL')
    await all.untilTrue(records)
    say(
      `n=${n} ${how}: ${outcome}, ${aliasMoved}; expired ${all.expired()}; last: ${rebuild.log().trim().split('\n').at(-1)}`,
    )
    expect(all.problems()).toEqual([])
  }
  const { status } = await pipeline.get(api, 'acme', '/api/v1/record-changes')
  expect(status).toBe(200)
  say(`switched ${switches} of ${most}; ${all.answers()} walks; expired ${all.expired()}; ${records.length} records`)
  await all.stop()
})
