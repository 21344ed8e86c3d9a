import { type History, type HistoryEvent, historyOf } from './history.ts'
import { runHistory } from './runHistory.ts'
import { randomFor } from './world/randomness.ts'

/* Histories in which clocks of brokers, processes and Redis are an hour off: `node test/simulation/hourClocks.ts <first seed> <seeds>`. */
Error.stackTraceLimit = 0
const [first = 1, seeds = 1] = process.argv.slice(2).map(Number)
const hourMs = 3_600_000

function history(seed: number): History {
  const random = randomFor(seed, 'hour clocks')
  const whole = historyOf(seed, ['clocks', random.pick(['rebuild', 'freezes', 'redis', 'groups', 'crashes'] as const)])
  const off = (): number => (random.chance(0.5) ? hourMs : -hourMs)
  const events = whole.events.map((event): HistoryEvent => {
    if (!('offsetMs' in event)) return event
    // Watermarks are compared with append times at the end, which must not lie in the future.
    const isOfRecords = event.kind === 'leader-clock' || (event.kind === 'engine-clock' && event.engine === 'kafka')
    return { ...event, offsetMs: isOfRecords ? -hourMs : off() }
  })
  const [none, endMs] = [{ offsetMs: 0 }, 9_000]
  const more: HistoryEvent[] = [
    { atMs: random.below(3_000), kind: 'process-clock', which: 0, offsetMs: off() },
    { atMs: random.below(3_000), kind: 'process-clock', which: 1, offsetMs: off() },
    { atMs: random.below(3_000), kind: 'leader-clock', topic: 'submissions', partition: undefined, offsetMs: -hourMs },
    { atMs: 3_000 + random.below(3_000), kind: 'leader-clock', topic: 'submissions', partition: undefined, ...none },
    ...[0, 1, 2, 3, 4, 5].map((which) => ({ atMs: endMs, kind: 'process-clock' as const, which, ...none })),
    ...(['redis', 'kafka'] as const).map((engine) => ({ atMs: endMs, kind: 'engine-clock' as const, engine, ...none })),
  ]
  return { ...whole, events: [...events, ...more].sort((a, b) => a.atMs - b.atMs) }
}

let broken = 0
const startedMs = performance.now()
for (let seed = first; seed < first + seeds; seed++) {
  const { violation, history: of } = await runHistory(history(seed))
  if (violation === undefined) continue
  broken++
  process.stdout.write(`seed ${seed} (${of.themes.join()}): ${violation.text.slice(0, 400)}\n`)
}
process.stdout.write(`${seeds} seeds in ${Math.round((performance.now() - startedMs) / 1_000)} s, ${broken} broken\n`)
