import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Kafka } from 'kafkajs'
import { readDeadLetter } from '../../indexer/deadLetters/deadLetters.ts'
import { readTopic } from '../../src/core/kafka/readTopic.ts'
import { bytesOf, entityOf, type SentJournal } from '../model/journal.ts'
import type { Problems } from '../model/problems.ts'
import { type Answer, ask } from '../model/reader.ts'
import type { Program } from '../support/programs.ts'
import type { Random } from '../support/random.ts'
import { fold, type HistoryRecord, type Json } from '../support/randomHistory.ts'
import {
  newestFirst,
  servedForm,
  servedFormSummary,
  servedSubmission,
  servedSubmissionSummary,
} from '../support/served.ts'

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
const askedAtOnce = 6
const kinds = [
  { topic: 'forms', path: '/api/v1/forms', summary: servedFormSummary, detail: servedForm },
  { topic: 'submissions', path: '/api/v1/records', summary: servedSubmissionSummary, detail: servedSubmission },
] as const

type Kind = (typeof kinds)[number]

/**
 * Judges a replica that everything has come to: every page of every list of every team, the details of what has changed and
 * of a random sample, and the dead letters. Nothing is written meanwhile.
 */
export async function judge(judged: Judged, changed: ReadonlySet<string>, random: Random): Promise<void> {
  for (const kind of kinds) {
    const entities = fold(judged.journal.newest(), kind.topic)
    for (const team of judged.teams) {
      await judgeList(judged, kind, team, entities, '?', () => true)
      if (kind.topic === 'submissions')
        await judgeList(
          judged,
          kind,
          team,
          entities,
          '?status=completed&',
          ({ result }) => result.status === 'completed',
        )
    }
    await judgeDetails(judged, kind, entities, chosen(judged.journal, kind.topic, changed, random))
  }
  await judgeDeadLetters(judged)
}

const apiOf = ({ apis }: Judged, turn: number): Program => {
  const api = apis[turn % apis.length]
  if (api === undefined) throw new Error('no API runs')
  return api
}

async function judgeList(
  judged: Judged,
  { topic, path, summary }: Kind,
  team: string,
  entities: ReadonlyMap<string, Json>,
  filter: string,
  isMeant: (entity: Json) => boolean,
): Promise<void> {
  const mine = [...entities].filter(([key]) => key.startsWith(`${team}/`)).map(([, entity]) => entity)
  const expected = newestFirst(mine.filter(isMeant)).map(summary)
  const items: Json[] = []
  for (let page = 1; page === 1 || items.length < expected.length; page++) {
    const target = `${path}${filter}limit=${pageSize}&page=${page}`
    const { status, body } = await ask(apiOf(judged, page), judged.keyOf(team), target)
    if (status !== 200 || body.totalDocs !== expected.length)
      await judged.problems.add(
        'total',
        `${team} ${target}: ${status}, ${body.totalDocs} instead of ${expected.length}`,
      )
    if (status !== 200 || body.items.length === 0) break
    items.push(...body.items)
  }
  const at = expected.findIndex((each, index) => !isDeepStrictEqual(each, items[index]))
  if (at < 0 && items.length === expected.length) return
  const wrong = [expected[at]?.id, items[at < 0 ? expected.length : at]?.id].filter((id) => id !== undefined)
  await judged.problems.add(
    'list',
    `${team} ${path}${filter} differs at ${at}: ${cut(items[at])} instead of ${cut(expected[at])}`,
    [...new Set(wrong)].map((id) => ({ topic, key: `${team}/${id}` })),
  )
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

async function judgeDetails(
  judged: Judged,
  { topic, path, detail }: Kind,
  entities: ReadonlyMap<string, Json>,
  keys: readonly string[],
): Promise<void> {
  const judgeOne = async (key: string, turn: number): Promise<void> => {
    const [team = '', id = ''] = key.split('/')
    const answer = await ask(apiOf(judged, turn), judged.keyOf(team), `${path}/${encodeURIComponent(id)}`)
    const entity = entities.get(key)
    if (isRight(answer, entity === undefined ? undefined : detail(entity))) return
    const said = `${answer.status} ${cut(answer.body)}`
    await judged.problems.add('detail', `${topic} ${key}: ${said} instead of ${cut(entity)}`, [{ topic, key }])
  }
  for (let at = 0; at < keys.length; at += askedAtOnce)
    await Promise.all(keys.slice(at, at + askedAtOnce).map((key, turn) => judgeOne(key, turn)))
}

const isRight = ({ status, body }: Answer, expected: Json): boolean =>
  expected === undefined
    ? status === 404 && body.error?.code === 'not_found'
    : status === 200 && isDeepStrictEqual(body, expected)

/** Every poison record is set aside at least once, byte for byte, and nothing but poison is. */
async function judgeDeadLetters({ journal, problems, kafka, names, signal }: Judged): Promise<void> {
  const missing = new Map(journal.poison)
  const topicOf = new Map(kinds.map(({ topic }) => [names[`TOPIC_${topic.toUpperCase()}`] ?? '', topic]))
  await readTopic(kafka, {
    topic: names['TOPIC_DEAD_LETTERS'] ?? '',
    groupId: `soak-${randomUUID()}`,
    signal,
    onRecord: async (record) => {
      const { topic, partition, offset, path, reason, key, value } = readDeadLetter(record)
      const place = `${topicOf.get(topic)}/${partition}/${offset}`
      const bytes = bytesOf(topicOf.get(topic) ?? '', key, value)
      if (!journal.poisonBytes.has(bytes) || (journal.poison.get(place) ?? bytes) !== bytes)
        await problems.add('dead letter', `that of ${place} (${path} ${reason}) is no poison: ${cut(String(value))}`)
      missing.delete(place)
    },
  })
  if (missing.size > 0)
    await problems.add('not in the dead letters', `${missing.size} records, of ${cut([...missing.keys()])}`)
}

const cut = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 600)
