import { Checks } from './checks.ts'
import { SimulatedRedis } from './engines/redis/simulatedRedis.ts'
import { Happenings } from './happenings.ts'
import { type History, type HistoryEvent, historyOf, stateOf, teams } from './history.ts'
import { runHistory } from './runHistory.ts'
import { randomFor } from './world/randomness.ts'

/*
 * Takes Redis its keys, or the last of its writes, after the n-th call of an indexer or a rebuild to an engine since the lock of a switch was
 * taken, for every n: `node test/simulation/redisSteps.ts <first seed> <seeds> <first n> <last n> <step of n>`.
 */
Error.stackTraceLimit = 0
const [firstSeed = 1, seeds = 1, firstN = 1, lastN = 60, stepOfN = 1] = process.argv.slice(2).map(Number)

const modes = {
  emptied: (redis: SimulatedRedis) => redis.flush(),
  'back by 0.15 s': (redis: SimulatedRedis) => redis.restart({ losesLastMs: 150 }),
  'back by 1 s': (redis: SimulatedRedis) => redis.restart({ losesLastMs: 1_000 }),
  'back by 6 s': (redis: SimulatedRedis) => redis.restart({ losesLastMs: 6_000 }),
  'failed over': (redis: SimulatedRedis) => redis.failOver(),
} as const

let redis: SimulatedRedis | undefined
let [isLocked, count, target] = [false, 0, Number.POSITIVE_INFINITY]
let [what, mode]: [string, keyof typeof modes] = ['', 'emptied']
let engineOfCall = ''

const { connect } = SimulatedRedis.prototype
SimulatedRedis.prototype.connect = function (...args) {
  redis = this
  return connect.apply(this, args)
}
const { afterCall } = Checks.prototype
Checks.prototype.afterCall = function (engine, call) {
  engineOfCall = engine
  afterCall.call(this, engine, call)
}
const { disturbSwitch } = Happenings.prototype
Happenings.prototype.disturbSwitch = function (call, caller) {
  disturbSwitch.call(this, call, caller)
  const isOfIndexing = /^(indexer|rebuild)-/.test(caller.name)
  const hasLock = redis?.namesWith('').some((name) => name.endsWith(':switch-lock')) ?? false
  isLocked ||= hasLock
  if (!isLocked || !isOfIndexing) return
  // Every call that changes something, of a switch and of publishing.
  if (engineOfCall === 'kafka' && !/OffsetCommit/i.test(call)) return
  if (engineOfCall === 'elasticsearch' && !/_aliases|_mapping|_refresh|_bulk/.test(call)) return
  if (++count !== target || redis === undefined) return
  what = `${caller.name} → ${engineOfCall} ${call.slice(0, 60)}`
  modes[mode](redis)
}

/** Appends before, during and after one rebuild that nobody disturbs. */
function plain(seed: number): History {
  const random = randomFor(seed, 'redis steps')
  const singles = Array.from({ length: 60 }, (_, at): HistoryEvent => {
    const topic = at % 2 === 0 ? 'forms' : 'submissions'
    const id = `${topic === 'forms' ? 'f' : 's'}${3 + random.below(4)}`
    const isDeletion = random.chance(0.07)
    const value = isDeletion ? null : stateOf(topic, id, 100 + at, random)
    return { atMs: 1_000 + at * 200, kind: 'append', topic, key: `${random.pick(teams)}/${id}`, value }
  })
  const base = historyOf(seed, [])
  const events: HistoryEvent[] = [
    { atMs: 0, kind: 'redis-flush' },
    ...base.events,
    { atMs: 1_500, kind: 'start', program: 'rebuild' },
    ...singles,
  ]
  return { ...base, events: events.sort((a, b) => a.atMs - b.atMs) }
}

let [runs, broken, switched] = [0, 0, 0]
const startedMs = performance.now()
for (let seed = firstSeed; seed < firstSeed + seeds; seed++)
  for (let n = firstN; n <= lastN; n += stepOfN)
    for (const each of Object.keys(modes) as (keyof typeof modes)[]) {
      ;[isLocked, count, target, what, mode] = [false, 0, n, '', each]
      const { violation, trace } = await runHistory(plain(seed))
      runs++
      const hasSwitched = trace.some((line) => line.includes('generation 2 serves'))
      if (hasSwitched) switched++
      if (violation !== undefined) {
        broken++
        process.stdout.write(`seed ${seed} n ${n} ${each} after ${what}: ${violation.text}\n`)
        if (process.env['TRACE'] !== undefined) process.stdout.write(`${trace.join('\n')}\n`)
      } else if (process.env['VERBOSE'] !== undefined)
        process.stdout.write(`seed ${seed} n ${n} ${each} after ${what || 'nothing'} ${hasSwitched}\n`)
    }
const seconds = Math.round((performance.now() - startedMs) / 1_000)
process.stdout.write(`${runs} runs in ${seconds} s, ${broken} broken, switched in ${switched}\n`)
