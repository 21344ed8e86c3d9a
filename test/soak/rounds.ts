import { setTimeout as sleep } from 'node:timers/promises'
import type { Appender } from '../model/appender.ts'
import { type Draft, gone } from '../model/journal.ts'
import { type Random, seeded } from '../support/random.ts'
import { type HistoryRecord, randomHistory } from '../support/randomHistory.ts'

export const randomTeams = randomHistory(0, 0).teams
export const steadyTeam = 'steady'

const recordsPerRound = 400
const mostAppendMs = 14_000
/** Rounds after which the entities are new ones: most of the old ones are deleted by then. */
const roundsPerEpoch = 12
/** Revisions of one entity are never the same in two rounds. */
const revisionSpacing = 1_000

/**
 * A round's random records. Revisions of all rounds lie between one another, so that much of what a round writes is late or is
 * overtaken by what an earlier one wrote; some records of earlier rounds come once more.
 */
export function roundOfRecords(seed: number, round: number, earlier: readonly Draft[]): Draft[] {
  const random = seeded(seed + round * 7_919)
  const drafts = randomHistory(random.below(2 ** 31), recordsPerRound).records.map((record) => inRound(record, round))
  const again = earlier.length === 0 ? [] : Array.from({ length: recordsPerRound / 10 }, () => random.pick(earlier))
  return [...drafts, ...again]
    .map((draft) => ({ draft, at: random.next() }))
    .sort(late)
    .map(({ draft }) => draft)
}

const late = (a: { at: number }, b: { at: number }): number => Number(a.at > 0.9) - Number(b.at > 0.9)

function inRound(record: HistoryRecord, round: number): Draft {
  if (record.isDeadLetter) return { ...record, revision: undefined }
  const epoch = Math.floor(round / roundsPerEpoch)
  const id = record.key.toString().split('/')[1] ?? ''
  const key = Buffer.from(epoch === 0 ? record.key.toString() : `${record.key.toString()}.${epoch}`)
  if (record.value === null) return { ...record, key, revision: gone }
  const text = record.value.toString()
  const [, digits = ''] = /"revision":\s*(\d+)/.exec(text) ?? []
  const revision = (Number(digits) + 2 * round) * revisionSpacing + (round % revisionSpacing)
  const value = text
    .replace(/("revision":\s*)\d+/, `$1${revision}`)
    .replace(new RegExp(`("id":\\s*)"${id}"`), epoch === 0 ? `$1"${id}"` : `$1"${id}.${epoch}"`)
  return { ...record, key, value: Buffer.from(value), revision }
}

/** Appends a round's records, now evenly, now in bursts. */
export async function appendOver(
  appender: Appender,
  drafts: readonly Draft[],
  random: Random,
  signal: AbortSignal,
): Promise<void> {
  const overMs = 2_000 + random.below(mostAppendMs)
  const chunk = random.pick([4, 25, 100])
  for (let at = 0; at < drafts.length; at += chunk) {
    await appender.append(drafts.slice(at, at + chunk))
    await sleep((overMs * chunk) / drafts.length, undefined, { signal })
  }
}
