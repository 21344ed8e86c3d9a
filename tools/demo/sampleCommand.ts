/** `docker compose run --rm sample`: sample teams for a Tidemark that runs already. */
import { Command } from 'commander'
import { configOrExit } from '../../src/core/process/service.ts'
import { loadSample } from './sample.ts'

const command = new Command('sample')
  .description('Brings sample teams into a Tidemark that runs, and prints how to ask for them. Again changes nothing.')
  .requiredOption(
    '--api <url>',
    'where the API is, ending in /api/v1; what is printed names BASE_URL instead where it is set',
  )
  .requiredOption('--keys <file>', "keeps the teams' keys, so that they are the same next time")
  .allowExcessArguments(false)

const { api: apiUrl, keys: keysPath } = command.parse().opts<{ api: string; keys: string }>()
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error('stopped')))
try {
  const config = await configOrExit(['KAFKA_BROKERS', 'REDIS_URL'])
  process.stdout.write(await loadSample({ config, apiUrl, keysPath, signal: stop.signal }))
} catch (error) {
  process.stderr.write(`sample: ${(error as Error).message}\n`)
  process.exitCode = 1
}
