import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import { readDeadLetter } from '../../indexer/deadLetters/deadLetters.ts'
import { readTopic } from '../../src/core/kafka/readTopic.ts'
import { type Ask, compareDetails, compareLists, cut, type Difference, foldedOf } from '../model/fold.ts'
import { bytesOf, entityOf, type SentJournal } from '../model/journal.ts'
import { fetchAnswer } from '../model/pollingReader.ts'
import type { Problems } from '../model/problems.ts'
import type { Program } from '../support/programs.ts'
import type { Random } from '../support/random.ts'
import type { HistoryRecord } from '../support/randomHistory.ts'

export type Judged = {
  readonly journal: SentJournal
  readonly problems: Problems
  readonly apis: readonly Program[]
  readonly kafka: Kafka
  readonly names: Readonly<Record<string, string>>
  readonly teams: readonly string[]
  keyOf(team: string): string
  readonly signal: AbortSignal
}

const pageSize = 100
const sampleSize = 60
/** Until an engine answers that did not, because the machine was busy. */
const patienceMs = 30_000
const pauseMs = 500

/**
 * Judges a replica that everything has come to: every page of every list of every team, the details of what has changed and
 * of a random sample, and the dead letters. Nothing is written meanwhile.
 */
export async function judge(judged: Judged, changed: ReadonlySet<string>, random: Random): Promise<void> {
  const { apis, journal, problems, teams, signal } = judged
  let turn = 0
  /** Asks again after a 503, as clients do. Whether there may be one is for the polling reader to say. */
  const ask: Ask = async (team, target) => {
    for (const givesUpAtMs = Date.now() + patienceMs; ; await sleep(pauseMs, undefined, { signal })) {
      const api = apis[turn++ % apis.length]
      if (api === undefined) throw new Error('no API runs')
      const answer = await fetchAnswer(api, judged.keyOf(team), target)
      if (answer.status !== 503 || Date.now() > givesUpAtMs) return answer
    }
  }
  const tell = async (differences: readonly Difference[]): Promise<void> => {
    for (const { kind, text, suspects } of differences) await problems.add(kind, text, suspects)
  }
  for (const folded of foldedOf(journal.newest())) {
    for (const team of teams) await tell(await compareLists(ask, folded, team, pageSize))
    await tell(await compareDetails(ask, folded, chosen(journal, folded.topic, changed, random)))
  }
  await judgeDeadLetters(judged)
}

/** Keys of what has changed, and of a sample of everything that ever was. */
function chosen(
  journal: SentJournal,
  topic: HistoryRecord['topic'],
  changed: ReadonlySet<string>,
  random: Random,
): string[] {
  const all = journal.newest().filter((draft) => draft.topic === topic)
  const sample = Array.from({ length: Math.min(sampleSize, all.length) }, () => String(random.pick(all).key))
  const own = all.map(({ key }) => String(key)).filter((key) => changed.has(entityOf(topic, key)))
  return [...new Set([...own, ...sample])]
}

/** Every record that breaks the contract is among the dead letters at least once, byte for byte, and no other is. */
async function judgeDeadLetters({ journal, problems, kafka, names, signal }: Judged): Promise<void> {
  const missing = new Map(journal.deadLetters)
  const topicOf = new Map(['forms', 'submissions'].map((topic) => [names[`TOPIC_${topic.toUpperCase()}`] ?? '', topic]))
  await readTopic(kafka, {
    topic: names['TOPIC_DEAD_LETTERS'] ?? '',
    signal,
    onRecord: async (record) => {
      const { topic, partition, offset, path, reason, key, value } = readDeadLetter(record)
      const place = `${topicOf.get(topic)}/${partition}/${offset}`
      const bytes = bytesOf(topicOf.get(topic) ?? '', key, value)
      if (!journal.deadLetterBytes.has(bytes) || (journal.deadLetters.get(place) ?? bytes) !== bytes)
        await problems.add(
          'dead letter',
          `that of ${place} (${path} ${reason}) breaks nothing of the contract: ${cut(String(value))}`,
        )
      missing.delete(place)
    },
  })
  if (missing.size > 0)
    await problems.add('not in the dead letters', `${missing.size} records, of ${cut([...missing.keys()])}`)
}
