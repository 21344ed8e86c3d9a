import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Redis } from 'ioredis'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/stores/indices.ts'
import type { Engine } from '../../tools/engines/engines.ts'
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

/** It resolves once its cause is taken away, with what is to be told of it. */
export type Fault = {
  readonly name: string
  /** No two faults of a round share it. */
  readonly target: string
  readonly afterMs: number
  run(stage: Stage): Promise<string>
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
    return told === '' ? fault.name : `${fault.name} (${told})`
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

/** Does something to an engine, which resolves with how it is undone. */
export const forAWhile =
  (what: string, { name }: Engine, lasts: Duration, begin: () => Promise<() => Promise<void>>): Make =>
  (random) => {
    const lastsMs = lasts(random)
    return {
      name: `${name} ${what} for ${seconds(lastsMs)}`,
      target: name,
      run: async ({ signal }) => {
        const end = await begin()
        try {
          await sleep(lastsMs, undefined, { signal })
        } finally {
          await end()
        }
        return ''
      },
    }
  }

const indexerFaults: Make[] = [0, 1]
  .flatMap((slot): Make[] => [
    ...(['SIGKILL', 'SIGTERM'] as const).map((signal): Make => {
      return () => ({
        name: `indexer ${slot} replaced by ${signal}`,
        target: `indexer ${slot}`,
        run: async ({ fleet }) => {
          await fleet.replaceIndexer(slot, signal)
          return ''
        },
      })
    }),
    (random) => {
      const frozenMs = 1_000 + random.below(14_000)
      return {
        name: `indexer ${slot} frozen for ${seconds(frozenMs)}`,
        target: `indexer ${slot}`,
        run: async ({ fleet, signal }) => {
          const { pid } = fleet.indexerAt(slot)
          process.kill(pid, 'SIGSTOP')
          await sleep(frozenMs, undefined, { signal })
          process.kill(pid, 'SIGCONT')
          return ''
        },
      }
    },
  ])
  .concat((random) => {
    const staysMs = 1_000 + random.below(12_000)
    return {
      name: `a third indexer for ${seconds(staysMs)}`,
      target: 'third indexer',
      run: async ({ fleet, signal }) => {
        await fleet.joinAndLeave(staysMs, signal)
        return ''
      },
    }
  })

const replicaFaults: Make[] = [
  () => ({
    name: 'redis flushed',
    target: 'redis data',
    run: async ({ redis, signal }) => {
      await untilDone(signal, async () => {
        await redis.flushall()
      })
      return ''
    },
  }),
  (random) => {
    const which = random.pick(['forms', 'submissions', 'every list', 'every', 'every write'])
    return {
      name: `aliases removed: ${which}`,
      target: 'indices',
      run: async (stage) => {
        await untilDone(stage.signal, () => removeAliases(stage, which))
        return ''
      },
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
async function untilDone(signal: AbortSignal, attempt: () => Promise<void>): Promise<void> {
  const givesUpAtMs = Date.now() + patienceMs
  for (;;) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > givesUpAtMs) throw error
      await sleep(500, undefined, { signal })
    }
  }
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
