import { join } from 'node:path'
import { aliasOf } from '../../../src/core/elasticsearch/indices.ts'
import { failWhenEnded, startService } from '../../demo/services.ts'
import { pause } from '../../engines/waiting.ts'
import { number } from '../page.ts'
import type { Counts } from '../report.ts'
import type { Stage } from '../stage.ts'
import { type Usage, usageOf } from '../usage.ts'
import { topicOf } from './feed.ts'
import { untilCounted } from './indexing.ts'

const commands = ['rebuild', 'verify'] as const
const mebibyte = 1_024 ** 2
const pollMs = 100
/** At its end, a rebuild waits so long (ms) for requests on the old indices. */
const graceMs = 10_000

/** Runs the commands that read all indices, beside an idle indexer. Rejects if a command fails. */
export async function measureUpkeep(stage: Stage, records: number): Promise<Counts> {
  const name = 'upkeep'
  const environment = { INDEX_PREFIX: name, CONSUMER_GROUP: name, TOPIC_SUBMISSIONS: topicOf(records) }
  await stage.start('indexer', environment, join(stage.logsFolder, name))
  await untilCounted(stage, [aliasOf(name, 'submissions'), aliasOf(name, 'submission-details')], records)
  const rows: string[][] = []
  for (const command of commands) {
    process.stdout.write(`Running ${command}\n`)
    const { elapsedMs, usage } = await run(stage, command, environment)
    const workedMs = elapsedMs - (command === 'rebuild' ? graceMs : 0)
    rows.push([
      command,
      number(elapsedMs / 1_000),
      number((1_000 * records) / workedMs),
      number((1_000 * (usage?.cpuMs ?? Number.NaN)) / records),
      number((usage?.peakResidentBytes ?? Number.NaN) / mebibyte),
    ])
  }
  return {
    title: `Commands over all ${records.toLocaleString('en')} submissions, once`,
    header: ['', 'seconds', 'submissions a second', 'CPU µs a submission', 'resident at most, MiB'],
    rows,
  }
}

/** Resolves with the resource usage as read last before the end of the command. */
async function run(
  { environment, logsFolder, signal }: Stage,
  name: (typeof commands)[number],
  more: Readonly<Record<string, string>>,
): Promise<{ readonly elapsedMs: number; readonly usage: Usage | undefined }> {
  const beganMs = performance.now()
  const started = await startService(name, { environment: { ...environment, ...more }, logsFolder, signal })
  let usage: Usage | undefined
  while (!started.program.hasEnded()) {
    usage = usageOf(started.program.pid) ?? usage
    await pause(pollMs, signal)
  }
  const elapsedMs = performance.now() - beganMs
  if (!(await started.program.ended).ok) await failWhenEnded(started)
  return { elapsedMs, usage }
}
