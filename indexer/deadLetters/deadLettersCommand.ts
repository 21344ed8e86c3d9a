import { once } from 'node:events'
import { Command } from 'commander'
import { pino } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { type KafkaSink, kafkaSink } from '../../src/core/kafka/sink.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { jsonLine, printable } from '../../src/core/monitoring/log.ts'
import { configOrExit } from '../../src/core/process/lifecycle.ts'
import { type DeadLetter, readDeadLetter } from './deadLetters.ts'

type Filter = { topic?: string; path?: string; key?: string }
type OnLetter = (letter: DeadLetter) => Promise<unknown>
/** Reads the dead letters to their present end. Resolves with the number that match the filter. */
type ReadLetters = (onLetter: OnLetter) => Promise<number>

export const command = new Command()
withFilters(command.command('list').description('prints place, time, source, key and reason of each'))
  .option('--json', 'print one JSON object a line')
  .action(async ({ json, ...filter }: Filter & { json?: true }) => {
    await withLetters(filter, async (readLetters) => {
      const count = await readLetters(async (letter) => {
        const line = json ? jsonLine(withoutContent(letter)) : `${lineOf(letter)}\n`
        const isBufferFull = !process.stdout.write(line)
        if (isBufferFull) await once(process.stdout, 'drain')
      })
      process.stderr.write(`${count} dead letters\n`)
    })
  })
const replay = 'sends records to their topics again; the dead letters stay where they are'
withFilters(command.command('replay').description(replay))
  .option('--place <partition/offset...>', 'only these, as listed')
  .option('--all', 'all that the filter leaves')
  .action(async ({ place: places, all, ...filter }: Filter & { place?: string[]; all?: true }) => {
    const hasPlaces = places !== undefined
    const hasAll = all !== undefined
    if (hasPlaces === hasAll) return reportError('name what to replay: --place or --all')
    await withLetters(filter, async (readLetters, sink) => {
      const sendAgain: OnLetter = ({ topic, key, value, headers }) => sink.append([{ topic, key, value, headers }])
      const count = hasPlaces ? await replayPlaces(places, readLetters, sendAgain) : await readLetters(sendAgain)
      process.stderr.write(`${count} records sent again\n`)
    })
  })

/** Sends none if a place has no dead letter. Resolves with their number. */
async function replayPlaces(places: readonly string[], readLetters: ReadLetters, sendAgain: OnLetter): Promise<number> {
  const letterAt = new Map<string, DeadLetter>()
  await readLetters(async (letter) => {
    if (places.includes(letter.place)) letterAt.set(letter.place, letter)
  })
  const missing = places.filter((place) => !letterAt.has(place))
  if (missing.length > 0) throw new Error(`no dead letter at ${missing.join(', ')}`)
  for (const letter of letterAt.values()) await sendAgain(letter)
  return letterAt.size
}

function withFilters(subcommand: Command): Command {
  return subcommand
    .option('--topic <name>', 'from this topic')
    .option('--path <path>', 'whose first problem is here, such as form.title')
    .option('--key <text>', 'whose record key contains this')
}

async function withLetters(
  filter: Filter,
  action: (readLetters: ReadLetters, sink: KafkaSink) => Promise<void>,
): Promise<void> {
  const config = await configOrExit(['KAFKA_BROKERS'])
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const sink = kafkaSink(kafka)
  const readLetters: ReadLetters = async (onLetter) => {
    let count = 0
    await kafkaSource(kafka).readTopic({
      topic: config.TOPIC_DEAD_LETTERS,
      // Never aborts: reading ends at the present end of the topic, or with an error after ten minutes without a record.
      signal: new AbortController().signal,
      onRecord: async (record) => {
        const letter = readDeadLetter(record)
        if (!matches(letter, filter)) return
        count++
        await onLetter(letter)
      },
    })
    return count
  }
  try {
    await action(readLetters, sink)
  } catch (error) {
    reportError((error as Error).message)
  } finally {
    await sink.disconnect()
  }
}

function matches(letter: DeadLetter, { topic, path, key }: Filter): boolean {
  if (topic !== undefined && letter.topic !== topic) return false
  if (path !== undefined && letter.path !== path) return false
  return key === undefined || (letter.key?.toString().includes(key) ?? false)
}

/** Value and headers may be personal data. */
const withoutContent = ({ value: _value, headers: _headers, key, ...letter }: DeadLetter) => ({
  ...letter,
  key: key?.toString() ?? null,
})

const lineOf = ({ place, deadLetteredAt, topic, partition, offset, key, path, reason }: DeadLetter): string =>
  [place, deadLetteredAt, `${topic}/${partition}/${offset}`, key?.toString() ?? '-', `${path} ${reason}`]
    .map(printable)
    .join('\t')

function reportError(message: string): void {
  process.stderr.write(`dead-letters: ${message}\n`)
  process.exitCode = 1
}
