import {
  type EngineName,
  type Engines,
  engineNames,
  externalEngines,
  startEngines,
} from '../../tools/engines/engines.ts'
import { variableOf } from '../../tools/engines/engineUrls.ts'
import type { Containers } from './containers.ts'

declare global {
  var testEngines: Pick<Engines, 'stop'> | undefined
}

const folder = 'var/test'

/**
 * Starts the engines once for the whole run and sets their URLs in the environment. Engines with a URL there are reused. The others run in
 * containers if a Docker daemon has their images, else as processes; TEST_ENGINES=`containers` or `processes` overrides that.
 */
export default async function start(): Promise<void> {
  const signal = AbortSignal.timeout(300_000)
  const external = externalEngines(process.env)
  const containers = await startChosenContainers(
    engineNames.filter((name) => external[variableOf[name]] === undefined),
    signal,
  )
  try {
    const engines = await startEngines({
      ...{ folder, distributions: 'var/engines', clean: true, quick: true },
      external: { ...external, ...containers?.urls },
      progress: process.stderr,
      signal,
    })
    Object.assign(process.env, engines.urls)
    globalThis.testEngines = {
      stop: async () => {
        await engines.stop()
        await containers?.stop()
      },
    }
  } catch (error) {
    await containers?.stop()
    throw error
  }
}

async function startChosenContainers(
  names: readonly EngineName[],
  signal: AbortSignal,
): Promise<Containers | undefined> {
  const wish = process.env['TEST_ENGINES'] ?? ''
  if (!['', 'containers', 'processes'].includes(wish))
    throw new Error('TEST_ENGINES must be containers, processes or unset')
  if (names.length === 0) return undefined
  if (wish === 'processes') return say('local processes, as TEST_ENGINES says')
  // Imported late, because its libraries take a second to load.
  const { startContainers, whyNoContainers } = await import('./containers.ts')
  const obstacle = await whyNoContainers(names)
  if (obstacle === undefined) {
    say('containers')
    return startContainers(names, { logs: `${folder}/logs`, signal })
  }
  if (wish === 'containers') throw new Error(`TEST_ENGINES is containers, but ${obstacle}`)
  return say(`local processes, for ${obstacle}`)
}

const say = (choice: string): undefined => {
  process.stderr.write(`engines: ${choice}\n`)
}
