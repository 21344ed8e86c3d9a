import { CursorCheck } from './cursorCheck.ts'
import { SimulatedKafka } from './engines/kafka/simulatedKafka.ts'
import { SimulatedRedis } from './engines/redis/simulatedRedis.ts'
import { type History, type HistoryEvent, historyOf, type Theme } from './history.ts'
import { SimulatedJournal } from './journal.ts'
import { PositionChecks } from './positionChecks.ts'
import { runHistory } from './runHistory.ts'
import { randomFor } from './world/randomness.ts'
import { Violation } from './world/world.ts'

/*
 * Histories whose records lie in any partition, as where two producers partition otherwise, or partitions were added and everything is sent again:
 * `node test/simulation/anyPartition.ts <first seed> <seeds> [themes]`.
 */
Error.stackTraceLimit = 0
const [first = '1', seeds = '1', names] = process.argv.slice(2)

let choose: () => number = () => 0
let journal: SimulatedJournal | undefined
SimulatedKafka.prototype.append = function (topic, key, value, headers) {
  const of = topic === 'account-keys' ? this.topics.partitionOf(topic, key) : choose()
  const at = { topic, partition: of }
  return { ...at, ...this.topics.append(at, { key, value, headers }) }
}
const { add } = SimulatedJournal.prototype
SimulatedJournal.prototype.add = function (record) {
  journal = this
  add.call(this, record)
}
let redis: SimulatedRedis | undefined
const { connect } = SimulatedRedis.prototype
SimulatedRedis.prototype.connect = function (...args) {
  redis = this
  return connect.apply(this, args)
}
let early = 0
const { expectTrue } = PositionChecks.prototype
/** A generation that a rebuild fills may lack what compaction has removed, until it was compared; nobody reads it. */
PositionChecks.prototype.expectTrue = function () {
  try {
    expectTrue.call(this)
  } catch (error) {
    const serving = redis?.text('tidemark:serving') ?? ''
    if (serving === '' || (error as Error).message.includes(serving)) throw error
    early++
  }
}

let excused = 0
const { expectWhole } = CursorCheck.prototype
/** Of a revision that two partitions hold, a copy may wait for the other record. */
CursorCheck.prototype.expectWhole = function (text, items) {
  try {
    expectWhole.call(this, text, items)
  } catch (error) {
    const [, topic, key, revision] = /: (\w+) (\S+) is held at .*, and (\d+) was/.exec((error as Error).message) ?? []
    const same = journal?.entries.filter(
      (each) => each.topic === topic && each.key === key && String(each.revision) === revision,
    )
    if (!(error instanceof Violation) || (same?.length ?? 0) < 2) throw error
    excused++
  }
}

/** One content for each revision, and some states sent again later. */
function history(seed: number): History {
  const random = randomFor(seed, 'any partition')
  choose = () => random.below(4)
  const whole = historyOf(seed, names?.split(',') as Theme[] | undefined)
  const contents = new Map<string, string>()
  const events = whole.events.flatMap((event): HistoryEvent[] => {
    if (event.kind !== 'append') return [event]
    const { topic, key, value } = event
    const revision = value === null ? 'gone' : (JSON.parse(value) as { revision?: number }).revision
    const name = `${topic} ${key} ${revision}`
    if (value !== null && !contents.has(name) && value.length > 60) contents.set(name, value)
    const one = { ...event, value: value === null ? null : (contents.get(name) ?? value) }
    return random.chance(0.4) ? [one, { ...one, atMs: one.atMs + random.below(2_000) }] : [one]
  })
  return { ...whole, events: events.sort((a, b) => a.atMs - b.atMs) }
}

let broken = 0
const startedMs = performance.now()
for (let seed = Number(first); seed < Number(first) + Number(seeds); seed++) {
  const { violation, trace, history: of } = await runHistory(history(seed))
  if (violation === undefined) continue
  broken++
  process.stdout.write(`seed ${seed} (${of.themes.join()}): ${violation.text.slice(0, 400)}\n`)
  if (process.env['TRACE'] !== undefined) process.stdout.write(`${trace.join('\n')}\n`)
}
const seconds = Math.round((performance.now() - startedMs) / 1_000)
process.stdout.write(`${seeds} seeds in ${seconds} s, ${broken} broken, ${excused} excused, ${early} before a switch\n`)
