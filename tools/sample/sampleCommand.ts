import { Command } from 'commander'
import { configOrExit } from '../../src/core/process/lifecycle.ts'
import { onStopSignals } from '../../src/core/process/stopSignals.ts'
import { isValidKey } from './api.ts'
import { createAccountKey, keptAccountKeys } from './demoKeys.ts'
import { fill, withKafka } from './fill.ts'
import { renderSamplePage } from './page.ts'
import { World } from './world.ts'

const submissions = 5_000
/** Fixed: every run produces the same records, so that a second run changes nothing. */
const nowMs = Date.parse('2026-11-01T00:00:00.000Z')

export const command = new Command()
  .requiredOption('--api <url>', 'where the API is, ending in /api/v1; BASE_URL, where it is set, is printed instead')
  .requiredOption('--keys <file>', "keeps the teams' keys for the next run")
  .action(async ({ api, keys }: { api: string; keys: string }) => {
    const stop = new AbortController()
    onStopSignals(
      () => stop.abort(new Error('stopped')),
      () => process.exit(1),
    )
    try {
      process.stdout.write(await loadSample(api, keys, stop.signal))
    } catch (error) {
      process.stderr.write(`sample: ${(error as Error).message}\n`)
      process.exitCode = 1
    }
  })

async function loadSample(apiUrl: string, keysPath: string, signal: AbortSignal): Promise<string> {
  const config = await configOrExit(['KAFKA_BROKERS', 'REDIS_URL'])
  const keysOf = (teamIds: readonly string[]): Promise<string[]> =>
    keptAccountKeys(keysPath, teamIds, {
      isValid: (key) => isValidKey(apiUrl, key, signal),
      create: (id) => createAccountKey(id, {}, signal),
    })
  const world = new World({ seed: 'sample', nowMs, submissions })
  const served = await withKafka(config, (kafka) =>
    fill(world, { submissions, config, baseUrl: apiUrl, kafka, keysOf, signal }),
  )
  return renderSamplePage({ ...served, baseUrl: config.BASE_URL ?? apiUrl, nowMs })
}
