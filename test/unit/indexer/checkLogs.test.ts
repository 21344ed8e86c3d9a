import { assignPartition } from '../../../indexer/assignedPartition.ts'
import { checkLogs, queryLogs } from '../../../indexer/checkLogs.ts'
import { type LogState, replacedAfterMs } from '../../../indexer/logReplacement.ts'
import type { OffsetRanges } from '../../../src/core/kafka/source.ts'
import { partitionName } from '../../../src/core/kafka/sourceRecord.ts'
import type { Offset } from '../../../src/core/model/ids.ts'

/** Kafka, with the ends of partitions of `forms`, and the first later record of each. */
function kafka(ends: readonly number[], later: readonly (number | undefined)[]) {
  const asked: string[] = []
  const ranges: OffsetRanges = new Map(
    ends.map((end, partition) => [
      `forms/${partition}`,
      { topic: 'forms', partition, low: 0n, high: BigInt(end) } as const,
    ]),
  )
  const source = {
    offsetRanges: async () => ranges,
    offsetsAfter: async (times: readonly { topic: string; partition: number; afterMs: number }[]) => {
      for (const each of times) asked.push(`${partitionName(each)}>${each.afterMs}`)
      return new Map(
        times.flatMap((each) => {
          const first = later[each.partition]
          return first === undefined ? [] : [[partitionName(each), BigInt(first)] as const]
        }),
      )
    },
    forgetLeaders: () => asked.push('leaders forgotten'),
  }
  return { source, asked }
}

const state = (...prefixes: (readonly [below: number, latestMs: number])[]): LogState => ({
  isReplaced: false,
  prefixes: prefixes.map(([below, latestMs]) => ({ below: BigInt(below), latestMs })),
})

function owned(partition: number, log: LogState) {
  const start = { position: 0n as Offset, deadLetteredBelow: 0n as Offset, coveredUntilMs: 1, log }
  return assignPartition({ topic: 'forms', partition }, start, () => 1)
}

test('Kafka is queried once for each prefix of a partition, but not for unknown times or missing partitions', async () => {
  const { source, asked } = kafka([9, 9], [4, undefined])
  const partitions = [state([5, 100], [8, 200]), state([3, Infinity]), state([1, 50])].map(
    ({ prefixes }, partition) => {
      return { topic: 'forms', partition, prefixes }
    },
  )
  expect(await queryLogs(source, partitions)).toEqual([
    [
      { high: 9n, firstLater: 4n },
      { high: 9n, firstLater: 4n },
    ],
    [{ high: 9n, firstLater: undefined }],
    [{ high: 0n, firstLater: undefined }],
  ])
  expect(asked).toEqual(['forms/0>100', 'forms/0>200'])
})

test('a replaced partition is reported once, after half a minute in which leaders were looked up again', async () => {
  const { source, asked } = kafka([9, 9], [4, undefined])
  const partitions = [owned(0, state([5, 100])), owned(1, state([5, 100]))]
  const times = [1_000, 1_000 + replacedAfterMs, 2_000 + replacedAfterMs]
  const named: string[][] = []
  for (const elapsedMs of times) named.push((await checkLogs(source, partitions, () => elapsedMs)).map(partitionName))
  expect(named).toEqual([[], ['forms/0'], []])
  expect(asked.filter((each) => each === 'leaders forgotten')).toHaveLength(1)
  expect(partitions.map(({ log }) => log.isReplaced)).toEqual([true, false])
})
