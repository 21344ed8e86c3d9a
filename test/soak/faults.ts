import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Redis } from 'ioredis'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/stores/indices.ts'
import type { Engine } from '../../tools/engines/engines.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import type { Random } from '../support/random.ts'
import type { Fleet } from './fleet.ts'

/** What faults are done to. */
export type Stage = {
  readonly fleet: Fleet
  readonly elasticsearch: Client
  readonly redis: Redis
  readonly prefix: string
  readonly signal: AbortSignal
}

/** It resolves once its cause is taken away, with text if anything is to be told of it. */
export type Fault = {
  readonly name: string
  /** No two faults of a round share it. */
  readonly target: string
  readonly afterMs: number
  run(stage: Stage): Promise<unknown>
}

/** The faults of a round, from the random source alone. */
export type PlanRound = (random: Random) => readonly Fault[]

const mostFaults = 3
const mostDeletions = 2
const mostDelayMs = 6_000
const patienceMs = 120_000

/** Plans one to three faults of engines, processes and data a round; a whole generation is deleted in a few rounds alone. */
export function randomFaults(engines: readonly Engine[]): PlanRound {
  let deletions = 0
  return (random) => {
    const ofEngines = engines.flatMap((engine) => [killed(engine), frozen(engine, upTo(mostFrozenMs)), stopped(engine)])
    const makers = random.shuffled([...ofEngines, ...indexerFaults, ...replicaFaults, ...rebuilds])
    const count = 1 + random.below(mostFaults)
    const faults: Fault[] = []
    for (const make of makers) {
      const fault = { ...make(random), afterMs: faults.length === 0 ? 0 : random.below(mostDelayMs) }
      if (faults.length < count && faults.every(({ target }) => target !== fault.target)) faults.push(fault)
    }
    if (deletions === mostDeletions || !random.chance(0.25)) return faults
    deletions++
    const last = { ...deletion, afterMs: random.below(mostDelayMs) }
    return [...faults.filter(({ target }) => target !== last.target), last]
  }
}

/** Does all faults of a round, each after its delay, and tells of each how it went; rejects once all are over. */
export async function runFaults(faults: readonly Fault[], stage: Stage): Promise<string[]> {
  const running = faults.map(async (fault) => {
    await sleep(fault.afterMs, undefined, { signal: stage.signal })
    const told = await fault.run(stage)
    return typeof told === 'string' ? `${fault.name} (${told})` : fault.name
  })
  await Promise.allSettled(running)
  return await Promise.all(running)
}

export type Make = (random: Random) => Omit<Fault, 'afterMs'>

const mostAwayMs = 8_000
const mostFrozenMs = 20_000

/** How long a fault lasts, in milliseconds. */
export type Duration = (random: Random) => number

export const upTo =
  (mostMs: number): Duration =>
  (random) =>
    1_000 + random.below(mostMs - 1_000)

export const killed = (engine: Engine): Make =>
  forAWhile('killed', engine, upTo(mostAwayMs), async () => {
    engine.kill('SIGKILL')
    await engine.ended()
    return () => engine.start()
  })

export const stopped = (engine: Engine): Make =>
  forAWhile('stopped', engine, upTo(mostAwayMs), async () => {
    await engine.stop()
    return () => engine.start()
  })

export const frozen = (engine: Engine, lasts: Duration): Make =>
  forAWhile('frozen', engine, lasts, async () => {
    engine.kill('SIGSTOP')
    return async () => engine.kill('SIGCONT')
  })

/** Does something to an engine or a process, which resolves with how it is undone. */
export const forAWhile =
  (
    what: string,
    { name }: Pick<Engine, 'name'>,
    lasts: Duration,
    begin: (stage: Stage) => Promise<() => Promise<unknown>>,
  ): Make =>
  (random) => {
    const lastsMs = lasts(random)
    return {
      name: `${name} ${what} for ${seconds(lastsMs)}`,
      target: name,
      run: async (stage) => {
        const end = await begin(stage)
        try {
          await sleep(lastsMs, undefined, { signal: stage.signal })
        } finally {
          await end()
        }
      },
    }
  }

const indexerFaults: Make[] = [0, 1]
  .flatMap((slot): Make[] => {
    const name = `indexer ${slot}`
    return [
      ...(['SIGKILL', 'SIGTERM'] as const).map((signal): Make => {
        const run: Fault['run'] = ({ fleet }) => fleet.replaceIndexer(slot, signal)
        return () => ({ name: `${name} replaced by ${signal}`, target: name, run })
      }),
      forAWhile('frozen', { name }, upTo(15_000), async ({ fleet }) => {
        const { pid } = fleet.indexerAt(slot)
        process.kill(pid, 'SIGSTOP')
        return async () => process.kill(pid, 'SIGCONT')
      }),
    ]
  })
  .concat(forAWhile('joins', { name: 'third indexer' }, upTo(13_000), ({ fleet }) => fleet.addGuest()))

const replicaFaults: Make[] = [
  () => ({
    name: 'redis flushed',
    target: 'redis data',
    run: ({ redis, signal }) => untilDone(signal, () => redis.flushall()),
  }),
  (random) => {
    const which = random.pick(['forms', 'submissions', 'every list', 'every', 'every write'])
    return {
      name: `aliases removed: ${which}`,
      target: 'indices',
      run: (stage) => untilDone(stage.signal, () => removeAliases(stage, which)),
    }
  },
]

const rebuilds: Make[] = [true, true, false, false].map((isKilled) => (random) => {
  const killAfterMs = isKilled ? 500 + random.below(14_000) : undefined
  return {
    name: killAfterMs === undefined ? 'rebuild' : `rebuild killed after ${seconds(killAfterMs)}`,
    target: 'rebuild',
    run: async ({ fleet, signal }) => {
      const { code, said } = await fleet.rebuild(killAfterMs, signal)
      return code === 0 ? 'exit code 0' : `exit code ${code}: ${said}`
    },
  }
})

const deletion: Omit<Fault, 'afterMs'> = {
  name: 'the serving generation deleted',
  target: 'indices',
  run: async ({ elasticsearch, prefix, signal }) => {
    let deleted: string[] = []
    await untilDone(signal, async () => {
      const serving = await elasticsearch.indices.getAlias({ name: aliasOf(prefix, 'submissions') })
      const generation = readPhysicalName(prefix, Object.keys(serving)[0] ?? '')?.generation
      const all = await elasticsearch.indices.get({ index: `${prefix}-*` })
      deleted = Object.keys(all).filter((name) => readPhysicalName(prefix, name)?.generation === generation)
      await elasticsearch.indices.delete({ index: deleted })
    })
    return deleted.join(' ')
  },
}

async function removeAliases({ elasticsearch, prefix }: Stage, which: string): Promise<void> {
  const indices = await elasticsearch.indices.get({ index: `${prefix}-*` })
  const isMeant = (alias: string): boolean => {
    if (which === 'every') return true
    if (which === 'every write') return alias.endsWith('-write')
    return documentKinds.some((kind) => alias === aliasOf(prefix, kind) && (which === 'every list' || which === kind))
  }
  const actions = Object.entries(indices).flatMap(([index, { aliases }]) =>
    Object.keys(aliases ?? {})
      .filter(isMeant)
      .map((alias) => ({ remove: { index, alias } })),
  )
  if (actions.length > 0) await elasticsearch.indices.updateAliases({ actions })
}

/** The engine that it is asked of may be away just now. */
async function untilDone(signal: AbortSignal, attempt: () => Promise<unknown>): Promise<void> {
  let failure: unknown
  const isDone = async (): Promise<boolean> => {
    failure = await attempt().then(
      () => undefined,
      (error: unknown) => error,
    )
    return failure === undefined
  }
  if (!(await waitUntil(isDone, { deadlineMs: patienceMs, signal }))) throw failure
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
