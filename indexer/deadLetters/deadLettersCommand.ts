import { once } from 'node:events'
import { Command } from 'commander'
import { pino } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { type KafkaSink, kafkaSink } from '../../src/core/kafka/sink.ts'
import { kafkaSource } from '../../src/core/kafka/source.ts'
import { jsonLine, printable } from '../../src/core/process/log.ts'
import { configOrExit } from '../../src/core/process/service.ts'
import { type DeadLetter, originalRecord, readDeadLetter } from './deadLetters.ts'

type Filter = { topic?: string; path?: string; key?: string }
type Letter = DeadLetter & { readonly place: string }
/** Reads the dead letters that the filter leaves, one after the other. */
type ReadLetters = (onLetter: (letter: Letter) => Promise<void>) => Promise<void>

export const command = new Command()
filtered(command.command('list').description('prints place, time, source, key and reason of each'))
  .option('--json', 'print one JSON object a line')
  .action(async ({ json, ...filter }: Filter & { json?: true }) => {
    let count = 0
    await withLetters(filter, async (readLetters) => {
      await readLetters(async (letter) => {
        count++
        const line = json ? jsonLine(shown(letter)) : `${describe(letter)}\n`
        if (!process.stdout.write(line)) await once(process.stdout, 'drain')
      })
      process.stderr.write(`${count} dead letters\n`)
    })
  })
filtered(
  command.command('replay').description('sends records to their topics again; the dead letters stay where they are'),
)
  .option('--place <partition/offset...>', 'only these, as listed')
  .option('--all', 'all that the filter leaves')
  .action(async ({ place, all, ...filter }: Filter & { place?: string[]; all?: true }) => {
    if ((place === undefined) === (all === undefined)) return complain('name what to replay: --place or --all')
    await withLetters(filter, async (readLetters, sink) => {
      let count = 0
      const sendAgain = async (letter: Letter): Promise<void> => {
        await sink.append([originalRecord(letter)])
        count++
      }
      if (place === undefined) await readLetters(sendAgain)
      else for (const letter of await lettersAt(place, readLetters)) await sendAgain(letter)
      process.stderr.write(`${count} records sent again\n`)
    })
  })

/** Throws when there is none at one of the places. */
async function lettersAt(places: readonly string[], readLetters: ReadLetters): Promise<readonly Letter[]> {
  const found: Letter[] = []
  await readLetters(async (letter) => {
    if (places.includes(letter.place)) found.push(letter)
  })
  const unknown = places.filter((place) => !found.some((letter) => letter.place === place))
  if (unknown.length > 0) throw new Error(`no dead letter at ${unknown.join(', ')}`)
  return found
}

function filtered(each: Command): Command {
  return each
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
  const readLetters: ReadLetters = (onLetter) =>
    kafkaSource(kafka).readTopic({
      topic: config.TOPIC_DEAD_LETTERS,
      // Reading ends by itself when the topic brings nothing for long.
      signal: new AbortController().signal,
      onRecord: async (record) => {
        const letter = { ...readDeadLetter(record), place: `${record.partition}/${record.offset}` }
        if (matches(letter, filter)) await onLetter(letter)
      },
    })
  try {
    await sink.connect()
    await action(readLetters, sink)
  } catch (error) {
    complain((error as Error).message)
  } finally {
    await sink.disconnect()
  }
}

function matches(letter: Letter, { topic, path, key }: Filter): boolean {
  if (topic !== undefined && letter.topic !== topic) return false
  if (path !== undefined && letter.path !== path) return false
  return key === undefined || (letter.key?.toString().includes(key) ?? false)
}

/** What `--json` prints: all but the value and the record's own headers. */
const shown = ({ value: _value, headers: _headers, key, ...letter }: Letter) => ({
  ...letter,
  key: key?.toString() ?? null,
})

const describe = ({ place, deadLetteredAt, topic, partition, offset, key, path, reason }: Letter): string =>
  [place, deadLetteredAt, `${topic}/${partition}/${offset}`, key?.toString() ?? '-', `${path} ${reason}`]
    .map(printable)
    .join('\t')

function complain(message: string): void {
  process.stderr.write(`dead-letters: ${message}\n`)
  process.exitCode = 1
}
