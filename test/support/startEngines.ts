import { type Engines, externalEngines, startEngines } from '../../tools/engines/engines.ts'

declare global {
  var testEngines: Pick<Engines, 'stop'> | undefined
}

/** Starts the engines once for the whole run; tests find them in the environment. Engines that it names already are used. */
export default async function start(): Promise<void> {
  const engines = await startEngines({
    folder: 'var/test',
    distributions: 'var/engines',
    clean: true,
    quick: true,
    external: externalEngines(process.env),
    report: ({ engine, step }) => process.stderr.write(`${engine}: ${step}\n`),
    signal: AbortSignal.timeout(300_000),
  })
  Object.assign(process.env, engines.urls)
  globalThis.testEngines = engines
}
