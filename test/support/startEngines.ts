import { type Engines, startEngines } from '../../engines/engines.ts'

declare global {
  var testEngines: Pick<Engines, 'stop'> | undefined
}

/** Starts the engines once for the whole run; tests find them in the environment. Engines that it names already are used. */
export default async function start(): Promise<void> {
  const { ELASTICSEARCH_URL, KAFKA_BROKERS, REDIS_URL } = process.env
  const given = { ELASTICSEARCH_URL, KAFKA_BROKERS, REDIS_URL }
  const engines = await startEngines({
    folder: 'var/test',
    distributions: 'var/engines',
    clean: true,
    given: Object.fromEntries(Object.entries(given).filter(([, url]) => url !== undefined && url !== '')),
    report: ({ engine, step }) => process.stderr.write(`${engine}: ${step}\n`),
    signal: AbortSignal.timeout(300_000),
  })
  Object.assign(process.env, engines.urls)
  globalThis.testEngines = engines
}
