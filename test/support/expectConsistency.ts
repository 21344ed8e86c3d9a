import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from './programs.ts'
import type { ObservedRecord, ReplicaObserver } from './replicaObserver.ts'

const sampleIntervalMs = 20
const maxShown = 20

/**
 * Everything appended before the published watermark is found by search, in both documents of its entity. Holds at every
 * moment, also while indexers run. Returns how many records were judged.
 */
export async function expectWatermarkHolds(observer: ReplicaObserver): Promise<number> {
  // The promise first: what a search finds later is never less.
  const watermarkMs = (await observer.watermarkMs()) ?? 0
  const promised = (await observer.records()).filter(({ appendedAtMs }) => appendedAtMs < watermarkMs)
  return await expectSearchable(observer, promised)
}

/** The published watermark never goes back, nor away, while `work` lasts. */
export async function expectWatermarkOnlyGrows<T>(observer: ReplicaObserver, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const end = (): void => over.abort()
  work.then(end, end)
  let knownMs = 0
  while (!over.signal.aborted) {
    const watermarkMs = (await observer.watermarkMs()) ?? 0
    expect(watermarkMs).toBeGreaterThanOrEqual(knownMs)
    knownMs = watermarkMs
    await sleep(sampleIntervalMs)
  }
  return await work
}

/**
 * Everything that is committed is found by search, or set aside when it is poison. Holds at every moment, also while indexers
 * run. Returns how many records were judged.
 */
export async function expectCommittedIsSearchable(observer: ReplicaObserver): Promise<number> {
  const committed = await observer.committed()
  const done = (await observer.records()).filter(({ partition, offset }) => offset < (committed.get(partition) ?? 0n))
  const letters = new Set((await observer.letters()).map(({ place }) => place))
  const lost = done.filter((record) => record.isPoison && !letters.has(placeOf(record)))
  expect(lost.map((record) => `${placeOf(record)} is committed and not set aside`)).toEqual([])
  return await expectSearchable(observer, done)
}

/**
 * Elasticsearch holds, by search, the documents of every entity under the version of its newest record, and no others. Holds
 * once everything is committed.
 */
export async function expectNewestVersions(observer: ReplicaObserver): Promise<void> {
  const newest = new Map<string, number>()
  for (const record of (await observer.records()).filter(isDocument))
    for (const name of documentsOf(record)) newest.set(name, Math.max(newest.get(name) ?? 0, record.version))
  expect(await observer.searchable()).toEqual(newest)
}

/** The dead letters are the poison records byte for byte, each at least once: a killed indexer may set one aside twice. */
export async function expectOnlyPoisonSetAside(observer: ReplicaObserver): Promise<void> {
  const poison = (await observer.records()).filter(({ isPoison }) => isPoison)
  const letters = (await observer.letters()).map(({ place, bytes }) => `${place} ${bytes}`)
  expect([...new Set(letters)].sort()).toEqual(poison.map((record) => `${placeOf(record)} ${record.bytes}`).sort())
}

/**
 * Every record had one outcome and every poison record one dead letter. `indexers` are all there ever were, none of them was
 * killed, and everything is committed.
 */
export async function expectEachRecordOnce(observer: ReplicaObserver, indexers: readonly Program[]): Promise<void> {
  const sum = async (labels: string): Promise<number> => {
    const counts = await Promise.all(indexers.map((indexer) => indexer.metric('tidemark_records_total', labels)))
    return counts.reduce((total, count) => total + count, 0)
  }
  const records = await observer.records()
  const poison = records.filter(({ isPoison }) => isPoison)
  expect({ counted: await sum(''), writeDeadLetter: await sum('"dead-letter"') }).toEqual({
    counted: records.length,
    writeDeadLetter: poison.length,
  })
  expect(await observer.letters()).toHaveLength(poison.length)
  await expectOnlyPoisonSetAside(observer)
}

async function expectSearchable(observer: ReplicaObserver, records: readonly ObservedRecord[]): Promise<number> {
  const judged = records.filter(isDocument)
  const versions = await observer.searchable()
  const missing = judged.flatMap((record) =>
    documentsOf(record).flatMap((document) => {
      const found = versions.get(document) ?? 0
      const said = `${document} has version ${found}, and ${record.version} in ${placeOf(record)}`
      return found >= record.version ? [] : [said]
    }),
  )
  expect(missing.slice(0, maxShown)).toEqual([])
  return judged.length
}

const isDocument = ({ kind, isPoison }: ObservedRecord): boolean => kind !== 'account-key' && !isPoison

const documentsOf = ({ kind, key }: ObservedRecord): string[] => [`${kind}s/${key}`, `${kind}-details/${key}`]

const placeOf = ({ partition, offset }: ObservedRecord): string => `${partition}/${offset}`
