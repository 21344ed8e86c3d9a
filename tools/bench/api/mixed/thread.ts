/** The thread of many polling teams: each with its own key, script and kept connection, on a schedule that waits for no answer. */
import { workerData } from 'node:worker_threads'
import { seededRandom } from '../../../demo/random.ts'
import { askHttp } from '../../load/http.ts'
import { dueTimes, openLoop, type Pacing } from '../../load/pacing.ts'
import { doJobs } from '../../load/thread.ts'
import { percentile } from '../../statistics.ts'
import { connect } from './connection.ts'
import { type MixedJob, type MixedOutcome, type Pollers, unchanged } from './job.ts'
import { pollingScript } from './script.ts'

/** Of a team, and of a probe. */
const maxUnderWay = 32
/** Scripts sleep about as long each time. */
const jitter = 0.8
const probeEveryMs = 500

const { origin, teams, probes } = workerData as Pollers
const pollers = teams.map((team) => {
  const random = seededRandom(`polling/${team.id}`)
  return { random, script: pollingScript(team, random), connection: connect(origin, team) }
})
const watchers = probes.map(({ name, origin: asked, requests }, place) => ({
  name,
  requests,
  asker: askHttp(asked, requests.length),
  firstMs: (place * probeEveryMs) / probes.length,
}))

async function perform({ requestsPerSecond, leadInMs, measuredMs }: MixedJob): Promise<MixedOutcome> {
  const latenciesMs = new Map<string, number[]>()
  const failures: Record<string, number> = {}
  const counts = { asked: 0, conditional: 0, unchanged: 0 }
  const fail = (what: string, times = 1): void => {
    failures[what] = (failures[what] ?? 0) + times
  }
  const beganMs = performance.now()
  const bounds = { beganMs, untilMs: leadInMs + measuredMs, maxUnderWay }
  const note = (name: string, dueMs: number, askedMs: number): void => {
    if (dueMs < leadInMs) return
    const known = latenciesMs.get(name) ?? []
    known.push(performance.now() - askedMs)
    latenciesMs.set(name, known)
  }
  const poll = async ({ script, connection }: (typeof pollers)[number], dueMs: number): Promise<void> => {
    const question = script.next()
    counts.asked += 1
    if (question.etag !== undefined) counts.conditional += 1
    const askedMs = performance.now()
    try {
      const answer = await connection.ask(question)
      if (answer.status === 304) counts.unchanged += 1
      else if (answer.status !== 200) return fail(String(answer.status))
      note(answer.status === 304 ? unchanged : question.kind, dueMs, askedMs)
      script.hear(question, answer)
    } catch (error) {
      fail(codeOf(error))
    }
  }
  const watch = async ({ name, requests, asker }: (typeof watchers)[number], dueMs: number): Promise<void> => {
    const askedMs = performance.now()
    await asker.ask(requests).then(
      () => note(name, dueMs, askedMs),
      (error: unknown) => fail(`${name}: ${(error as Error).message}`),
    )
  }
  const idle = performance.eventLoopUtilization()
  const everyMs = (1_000 * teams.length) / requestsPerSecond
  const loops: Promise<Pacing>[] = watchers.map((watcher) =>
    openLoop(steps(watcher.firstMs), bounds, (dueMs) => watch(watcher, dueMs)),
  )
  if (requestsPerSecond > 0)
    for (const poller of pollers)
      loops.push(openLoop(dueTimes(everyMs, jitter, poller.random), bounds, (dueMs) => poll(poller, dueMs)))
  const pacings = await Promise.all(loops)
  const { utilization: busyShare } = performance.eventLoopUtilization(idle)
  const leftOut = pacings.reduce((sum, pacing) => sum + pacing.leftOut, 0)
  if (leftOut > 0) fail('not asked: too much was under way', leftOut)
  const lateMs = percentile(
    pacings.flatMap(({ latenessMs }) => latenessMs),
    0.99,
  )
  return { latenciesMs, elapsedMs: measuredMs, busyShare, lateMs, ...counts, failures }
}

function* steps(firstMs: number): Generator<number> {
  for (let dueMs = firstMs; ; dueMs += probeEveryMs) yield dueMs
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? (error as Error).name

doJobs(perform)
