import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, type EngineName, startEngines } from '../../engines/engines.ts'

export const startDeadlineMs = 180_000

/** Engines that no other test misses, as processes: what a container's daemon would restart or hide cannot be tested. */
export type OwnEngines = { engine(name: EngineName): Engine; stop(): Promise<void> }

/** Starts all three and leads this process and what it starts to them. */
export async function startOwnEngines(): Promise<OwnEngines> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-fault-'))
  const engines = await startEngines({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    given: {},
    report: () => undefined,
    signal: AbortSignal.timeout(startDeadlineMs),
  })
  Object.assign(process.env, engines.urls)
  return {
    engine: (name) => {
      const found = engines[name]
      if (found === undefined) throw new Error(`${name} was not started`)
      return found
    },
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
