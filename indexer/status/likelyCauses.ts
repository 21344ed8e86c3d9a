import { partitionName } from '../../src/core/kafka/sourceRecord.ts'
import type { CheckResult } from '../../src/core/monitoring/health.ts'
import { clockText, count, counted, duration } from './format.ts'
import { lagsOf, type Observed, type PartitionLag, staleMs } from './observe.ts'
import type { Obstacle, OwnState } from './ownState.ts'
import type { RebuildState } from './rebuildState.ts'
import { recordsBehind } from './surveyGroup.ts'

export type Level = 'success' | 'warning' | 'danger'

/** A sentence for the operator. `danger`: nobody but an operator ends it. */
export type Cause = { readonly level: Level; readonly text: string }

export type Situation = {
  readonly checks: readonly CheckResult[]
  readonly own: OwnState
  readonly observed: Observed
  readonly rebuild: RebuildState | undefined
  readonly nowMs: number
}

const maxCauses = 3
/** A failure that has ended sooner (ms) was repaired by a retry. */
const retriedMs = 5_000
/** Records that stand for this time (ms) are stopped; a slow engine moves them. */
const standsMs = 60_000
/** An older watermark is late. */
export const lateSeconds = 30
const clockOffsetSeconds = 0.5

/**
 * Why records are not visible, or are about to be missed: up to three causes, the most urgent first. Without any, one sentence until when everything is
 * visible.
 */
export function likelyCauses(latest: Situation): readonly Cause[] {
  const { observed, nowMs } = latest
  const isStale = observed.group !== undefined && nowMs - observed.group.atMs > staleMs
  const situation = isStale ? { ...latest, observed: { ...observed, group: undefined } } : latest
  const causes = [
    ...enginesAway(situation),
    ...needsRebuild(situation),
    ...obstacles(situation),
    ...withoutOwner(situation),
    ...standing(situation),
    ...leftRebuild(situation),
    ...backlog(situation),
    ...watermark(situation),
  ]
  const failing = causes.length > 0 ? [] : failingChecks(situation.checks)
  const found = [...causes, ...failing].slice(0, maxCauses)
  return found.length > 0 ? found : [withoutCause(situation)]
}

const danger = (text: string): Cause => ({ level: 'danger', text })
const warning = (text: string): Cause => ({ level: 'warning', text })

const engines: Readonly<Record<string, string>> = {
  kafka: 'Kafka',
  elasticsearch: 'Elasticsearch',
  redis: 'Redis',
}

const enginesAway = ({ checks }: Situation): Cause[] =>
  checks.flatMap((check) => {
    const engine = engines[check.name]
    return check.ok || engine === undefined ? [] : [danger(`${engine} ${check.problem}.`)]
  })

const isAway = ({ checks }: Situation, name: string): boolean =>
  checks.some((check) => check.name === name && !check.ok)

const namesOf = (partitions: readonly { topic: string; partition: number }[]): string => {
  const names = partitions.map(partitionName)
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}

function needsRebuild({ observed, rebuild }: Situation): Cause[] {
  const partitions = observed.group?.value.partitions ?? []
  const remedy = rebuild?.kind === 'running' ? 'a rebuild is running.' : 'run a rebuild.'
  const replaced = partitions.filter(({ isReplaced }) => isReplaced)
  const unsure = partitions.filter(({ mayLackDeletions, isReplaced }) => mayLackDeletions && !isReplaced)
  const causes: Cause[] = []
  if (replaced.length > 0) causes.push(danger(`The log of ${namesOf(replaced)} was replaced: ${remedy}`))
  if (unsure.length > 0)
    causes.push(danger(`Kafka may have removed deletions of ${namesOf(unsure)} before they were read: ${remedy}`))
  return causes
}

function leftRebuild({ rebuild, nowMs }: Situation): Cause[] {
  if (rebuild?.kind !== 'left') return []
  const { report } = rebuild
  const at = report === undefined ? '' : `; its last sign of life was at ${clockText(nowMs - report.ageMs, nowMs)}`
  return [warning(`A rebuild has ended half way${at}: run it again.`)]
}

function obstacles(situation: Situation): Cause[] {
  const { own, observed, nowMs } = situation
  const since = (obstacle: Exclude<Obstacle, { kind: 'write' }>): string => {
    const timeMs = observed.visibleMs(obstacle)
    return timeMs === undefined ? '' : ` since ${clockText(timeMs, nowMs)}`
  }
  const causes = own.obstacles.flatMap((obstacle): Cause[] => {
    if (obstacle.kind === 'write') {
      if (obstacle.forMs < retriedMs || isAway(situation, 'elasticsearch')) return []
      const [record] = obstacle.name.split(', key ')
      return [
        danger(
          `Elasticsearch refuses writes since ${clockText(nowMs - obstacle.forMs, nowMs)}: ${refusalIn(obstacle.reason)}. The record that waits longest is ${record}.`,
        ),
      ]
    }
    const problem =
      obstacle.kind === 'batch'
        ? `the record batch at offset ${obstacle.offset} cannot be decoded (${obstacle.reason})`
        : `the record at offset ${obstacle.offset} cannot be indexed, and Kafka refuses its dead letter (${obstacle.reason})`
    return [danger(`Records of partition ${partitionName(obstacle)} wait${since(obstacle)}: ${problem}.`)]
  })
  const paused = own.pausedTopics.map((topic) =>
    danger(`Records of ${topic} wait: nearly all of them break the contract, so that their dead letters are paused.`),
  )
  return [...causes, ...paused]
}

/** What operators meet most, in words. */
function refusalIn(reason: string): string {
  const known = refusals.find(([pattern]) => pattern.test(reason))
  return known === undefined ? reason : `${known[1]} (${reason})`
}

const refusals: readonly (readonly [RegExp, string])[] = [
  [/^429 cluster_block_exception/, 'its disk is full'],
  [/cluster_block_exception/, 'a block was set'],
  [/unavailable_shards_exception|primary/, 'a shard has no primary'],
  [/index_not_found_exception/, 'the indices were deleted'],
  [/^40[13] /, 'the indexer lacks a right, or its password is wrong'],
  [/^429 |timed out|timeout/i, 'it is overloaded'],
]

function withoutOwner({ observed: { group } }: Situation): Cause[] {
  if (group === undefined) return []
  const { partitions, indexers } = group.value
  if (indexers.length === 0) return [danger('No indexer reads: start one.')]
  const unowned = partitions.filter(({ owner }) => owner === undefined)
  if (unowned.length === 0) return []
  if (unowned.length === partitions.length)
    return [warning('The indexers divide the partitions among them anew, which takes some seconds.')]
  return [danger(`No indexer owns ${namesOf(unowned)}.`)]
}

/** Partitions that stand for a reason that this indexer does not know. */
function standing(situation: Situation): Cause[] {
  const { own, observed, nowMs } = situation
  const { partitions, indexers } = observed.group?.value ?? { partitions: [], indexers: [] }
  const explained = new Set(own.obstacles.flatMap((each) => (each.kind === 'write' ? [] : [partitionName(each)])))
  const isExplained = own.obstacles.some(({ kind }) => kind === 'write') || enginesAway(situation).length > 0
  const stopped = partitions.filter(
    (partition) =>
      partition.owner !== undefined &&
      nowMs - (partition.standsSinceMs ?? nowMs) >= standsMs &&
      !explained.has(partitionName(partition)) &&
      !own.pausedTopics.includes(partition.topic),
  )
  const [first] = stopped
  if (first === undefined || isExplained) return []
  const since = clockText(observed.visibleMs(first) ?? first.standsSinceMs ?? nowMs, nowMs)
  const host = indexers.find(({ id }) => id === first.owner)?.host
  const others = stopped.length === 1 ? '' : `, and of ${stopped.length - 1} other partitions,`
  const isOwn = own.partitions.some((partition) => partitionName(partition) === partitionName(first))
  const where = isOwn ? '' : `the status page of its indexer at ${host} says why, or `
  return [
    danger(
      `Records of partition ${partitionName(first)}${others} wait since ${since} at offset ${first.position}: ${where}a producer has left a transaction open.`,
    ),
  ]
}

function backlog({ own, observed, rebuild, nowMs }: Situation): Cause[] {
  const { group, watermarkMs } = observed
  if (rebuild?.kind === 'running' && rebuild.report?.phase === 'switch')
    return [warning('A rebuild is switching: nothing new becomes visible for some seconds.')]
  const isLate = watermarkMs === undefined || nowMs - watermarkMs > lateSeconds * 1_000
  if (group === undefined || !isLate) return []
  const { processedPerSecond: processed = 0, appendedPerSecond: appended = 0, partitions } = group.value
  const behind = recordsBehind(partitions)
  if (behind === 0 || processed === 0) return []
  const rates = `${counted(behind, 'record')} wait; ${count(processed)} a second are indexed, ${count(appended)} appended`
  if (processed > appended) return [warning(`${rates}: about ${duration(behind / (processed - appended))} are left.`)]
  const isFull = own.inFlightBytes > own.maxInFlightBytes / 2
  return [danger(`${rates}: ${isFull ? 'Elasticsearch is too slow' : 'more indexers are needed'}.`)]
}

function watermark({ own, observed }: Situation): Cause[] {
  if (observed.group !== undefined && !own.hasAppendTimes)
    return [danger('There is no watermark: forms or submissions lacks message.timestamp.type=LogAppendTime.')]
  const offsetSeconds = (own.clockOffsetMs ?? 0) / 1_000
  if (Math.abs(offsetSeconds) <= clockOffsetSeconds) return []
  const side = offsetSeconds > 0 ? 'ahead of' : 'behind'
  return [
    warning(
      `The clock of this indexer is ${duration(Math.abs(offsetSeconds))} ${side} that of Redis: answers look older than they are.`,
    ),
  ]
}

/** Only used without another cause, whose consequences fail, too. */
const failingChecks = (checks: readonly CheckResult[]): Cause[] =>
  checks.flatMap((check) => (check.ok ? [] : [danger(`The check “${check.name}” fails: ${check.problem}.`)]))

function withoutCause({ observed: { group, watermarkMs, visibleMs }, nowMs }: Situation): Cause {
  if (group === undefined) return warning('Not known yet: Kafka has not described the topics and their indexers.')
  if (watermarkMs === undefined)
    return warning('There is no watermark yet: not every partition has been read to its end.')
  const at = clockText(watermarkMs, nowMs)
  if (nowMs - watermarkMs <= lateSeconds * 1_000)
    return { level: 'success', text: `All is well: everything up to ${at} is visible.` }
  const latest = oldestOf(lagsOf(group, visibleMs))
  const partition = latest === undefined ? '' : ` Partition ${partitionName(latest)} is furthest behind.`
  return danger(`Nothing newer than ${at} is promised, and no cause is known here: see the other indexers.${partition}`)
}

const oldestOf = (lags: readonly PartitionLag[]): PartitionLag | undefined =>
  lags.toSorted((a, b) => (b.behindSeconds ?? 0) - (a.behindSeconds ?? 0))[0]
