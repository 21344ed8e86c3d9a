import { randomUUID } from 'node:crypto'
import { type AppendInfo, type DocumentWrite, formWrites, submissionWrites } from '../../indexer/convertRecord.ts'
import { connectElasticsearch } from '../../src/core/elasticsearch/elasticsearch.ts'
import {
  aliasOf,
  type DocumentKind,
  definitionOf,
  documentKinds,
  type GenerationTag,
  type Indices,
  type PhysicalIndex,
  physicalName,
} from '../../src/core/elasticsearch/indices.ts'
import { accountKeyPrefix, digestOf } from '../../src/core/model/accountKey.ts'
import {
  type EntityId,
  type EntityType,
  entityTypes,
  type Revision,
  type TeamId,
  type TeamList,
} from '../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import { readFormRecord, readSubmissionRecord } from '../../src/core/model/record.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { connectRedis } from '../../src/core/redis/redis.ts'
import { setServing } from '../../src/core/redis/serving.ts'
import { type CursorKey, newCursorKey, publishVisiblePositions } from '../../src/core/redis/visiblePositions.ts'
import { clearRedis } from './clearRedis.ts'
import { testConfig } from './config.ts'
import { eventually } from './eventually.ts'
import { recordedAt } from './replicaRecords.ts'

export type TestReplica = Awaited<ReturnType<typeof createTestReplica>>

export type TestRecord = {
  readonly team: string
  readonly id: string
  /** The entity as JSON text, or as a value to serialise. */
  readonly entity: string | Readonly<Record<string, unknown>> | null
  readonly revision?: number
  readonly appendedAt?: string
  /** The partition of its topic; by default 0. */
  readonly partition?: number
  /** Whether a rebuild has copied its document from a replaced log. */
  readonly isOfReplacedLog?: boolean
}

export type TestKey = {
  readonly id?: string
  readonly plaintext?: string
  readonly state?: 'active' | 'revoked'
  readonly expiresAt?: string
  readonly revision?: number
}

/** The name of a list: `<entity type>/<team>`. */
type TestList = `${EntityType}/${string}`

/** Creates a replica that tests fill as an indexer would. */
export async function createTestReplica() {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  const config = testConfig({ INDEX_PREFIX: prefix })
  const elasticsearch = connectElasticsearch(config)
  const link = connectRedis(config, () => undefined)
  const names = link.keys
  const keys = new AccountKeyStore(link)
  const generation = '1-0123456789abcdef' as GenerationTag
  const cursorKey = newCursorKey()
  const physical = new Map<DocumentKind, PhysicalIndex>()
  /** For each type and partition, the offset of the next record, and the published position. */
  const ends = { forms: [0], submissions: [0] }
  const published: Record<EntityType, readonly number[]> = { forms: [0], submissions: [0] }
  const nextOffset = (type: EntityType, { partition = 0, isOfReplacedLog = false }: TestRecord): number => {
    if (isOfReplacedLog) return 0
    while (ends[type].length <= partition) ends[type].push(0)
    const offset = ends[type][partition] ?? 0
    ends[type][partition] = offset + 1
    return offset
  }
  const close = async (): Promise<void> => {
    await elasticsearch.indices.delete({ index: [...physical.values()] })
    await clearRedis(link.client, prefix)
    await link.close()
    await elasticsearch.close()
  }
  try {
    await eventually(() => link.runId() !== undefined)
    const creating = documentKinds.map(async (kind) => {
      const { version, settings, mappings } = definitionOf(kind, true)
      const index = physicalName(prefix, kind, version, 1)
      await elasticsearch.indices.create({ index, settings, mappings, aliases: { [aliasOf(prefix, kind)]: {} } })
      physical.set(kind, index)
    })
    await Promise.all(creating)
  } catch (error) {
    await Promise.allSettled([link.close(), elasticsearch.close()])
    throw error
  }

  /** Publishes every stored document as visible, as an indexer does after a refresh. */
  const publishPositions = async (
    instant: string,
    round: {
      generation?: GenerationTag
      lists?: readonly TestList[]
      mayLackDeletions?: boolean
      /** How many partitions the topics have, if more than those with records. No position of the others is published. */
      partitions?: number
      cursorKey?: CursorKey
    } = {},
  ): Promise<void> => {
    const partitions = entityTypes.flatMap((type) =>
      ends[type].map((end, partition) => {
        const from = BigInt(published[type][partition] ?? 0)
        return { type, partition, from, to: BigInt(end), timeMs: Date.parse(instant) }
      }),
    )
    for (const type of entityTypes) published[type] = [...ends[type]]
    const [key, least] = [round.cursorKey ?? cursorKey, round.partitions ?? 1]
    await publishVisiblePositions(link, {
      generation: round.generation ?? generation,
      indices: Object.fromEntries(physical) as Indices,
      cursorKeys: { forms: key, submissions: key },
      partitionCounts: {
        forms: Math.max(least, ends.forms.length),
        submissions: Math.max(least, ends.submissions.length),
      },
      lists: (round.lists ?? []) as readonly TeamList[],
      changesEveryList: false,
      partitions,
      mayLackDeletions: round.mayLackDeletions ?? false,
    })
  }

  /** A time that raises no watermark. */
  const longAgo = toInstant(1)
  const misleading = (kind: string): string => `${prefix}-misleading-${kind}`

  const store = async (writes: DocumentWrite[]): Promise<void> => {
    const bulks = inBulks(writes)
    for (const some of bulks) {
      const operations = some.flatMap(({ kind, id, teamId, version, source }) => {
        const at = { _index: aliasOf(prefix, kind), _id: id, routing: teamId, version, version_type: 'external' }
        return [JSON.stringify({ index: at }), source.toString()]
      })
      const answer = await elasticsearch.bulk({ operations, refresh: bulks.length === 1 })
      const failed = answer.items.find(({ index }) => index?.error !== undefined)
      if (failed !== undefined) throw new Error(JSON.stringify(failed.index?.error))
    }
    if (bulks.length > 1) await elasticsearch.indices.refresh({ index: `${prefix}-*` })
  }
  return {
    prefix,
    /** Applies records as if read from Kafka, and makes them searchable. A null entity deletes. */
    storeForms: (...records: TestRecord[]) =>
      store(
        records.flatMap((record) =>
          formWrites(...readWith(readFormRecord, 'form', record, nextOffset('forms', record))),
        ),
      ),
    storeSubmissions: (...records: TestRecord[]) =>
      store(
        records.flatMap((record) =>
          submissionWrites(
            ...readWith(readSubmissionRecord, 'submission', record, nextOffset('submissions', record)),
            true,
          ),
        ),
      ),
    /** Stores a key and returns its plaintext. */
    storeKey: async (
      team: string,
      { id = 'key-1', plaintext, state = 'active', expiresAt, revision = 1 }: TestKey = {},
    ): Promise<string> => {
      const key = plaintext ?? `${accountKeyPrefix}${randomUUID()}`
      const stored = {
        ...{ id, name: 'a key', digest: digestOf(key), state, createdBy: 'owner-1' },
        createdAt: '2026-01-01T00:00:00.000Z' as Instant,
        ...(expiresAt !== undefined && { expiresAt: expiresAt as Instant }),
      }
      await keys.apply(team as TeamId, id as EntityId, { revision: revision as Revision, key: stored })
      return key
    },
    completeAccountKeys: async (): Promise<void> => {
      const fold = await keys.beginReplay(randomUUID())
      if (!(await fold.complete())) throw new Error('the key view could not be completed')
    },
    loseAccountKeys: () => link.client.del(names.accountKeysComplete),
    /** Publishes every stored document and a watermark; with null, no generation serves. */
    publishWatermark: async (instant: string | null): Promise<void> => {
      await link.client.del(names.serving, ...entityTypes.map((type) => names.visiblePositions(type, generation)))
      if (instant === null) return
      await setServing(link, generation)
      await publishPositions(instant)
    },
    /** Publishes a later watermark, as an indexer does. */
    advanceWatermark: (instant: string): Promise<void> => publishPositions(instant),
    publishPositions,
    /** Makes Redis fall back to a lower visible position of a partition, or to none for `null`. */
    setPosition: async (type: EntityType, partition: number, position: number | null): Promise<void> => {
      const name = names.visiblePositions(type, generation)
      if (position === null) await link.client.hdel(name, String(partition))
      else await link.client.hset(name, String(partition), String(position))
    },
    /** Where the next record of each partition would be appended. */
    positions: (type: EntityType): readonly number[] => [...ends[type]],
    /** Replaces the change token of a list, as an indexer does after a refresh. */
    replaceChangeToken: (list: TestList) => publishPositions(longAgo, { lists: [list] }),
    /** Makes Redis lose watermark and tokens, or switches generations. */
    disturb: async (event: 'flushed' | 'switched'): Promise<void> => {
      if (event === 'flushed') {
        const lost = [
          await link.client.keys(`${prefix}:change-token:*`),
          await link.client.keys(`${prefix}:visible-positions:*`),
        ]
        await link.client.del(names.serving, ...lost.flat())
      }
      const serving = event === 'flushed' ? generation : ('2-0123456789abcdef' as GenerationTag)
      await setServing(link, serving)
      await publishPositions(longAgo, { generation: serving })
    },
    /** Ends the rate-limit windows of all keys. */
    endMinutes: async (): Promise<void> => {
      const minutes = await link.client.keys(`${names.limitPrefix}*`)
      if (minutes.length > 0) await link.client.del(...minutes)
    },
    /** Makes Redis fail whenever it counts a request of a key, until `endMinutes`. */
    breakMinute: async (team: string, keyId: string): Promise<void> => {
      const name = `${names.limitPrefix}:${team}/${keyId}`
      await link.client.del(name)
      await link.client.hset(name, 'no', 'number')
    },
    /** Milliseconds until the rate-limit window of a key ends. */
    minuteLeftMs: (team: string, keyId: string) => link.client.pttl(`${names.limitPrefix}:${team}/${keyId}`),
    /** Deletes the names of the indices from Redis, so that the API searches the read aliases, until the next publication. */
    forgetIndices: async (): Promise<void> => {
      for (const type of entityTypes)
        await link.client.hdel(names.visiblePositions(type, generation), 'index', 'details')
    },
    dropAlias: (kind: DocumentKind) =>
      elasticsearch.indices.deleteAlias({ index: physical.get(kind) ?? '', name: aliasOf(prefix, kind) }),
    /** Points the read alias to an index whose mappings do not support the API's queries. */
    misleadAlias: async (kind: DocumentKind): Promise<void> => {
      const [alias, index] = [aliasOf(prefix, kind), misleading(kind)]
      await elasticsearch.indices.create({ index, mappings: { properties: { position: { type: 'text' } } } })
      const actions = [{ remove: { index: physical.get(kind) ?? '', alias } }, { add: { index, alias } }]
      await elasticsearch.indices.updateAliases({ actions })
    },
    restoreAlias: async (kind: DocumentKind): Promise<void> => {
      await elasticsearch.indices.delete({ index: misleading(kind), ignore_unavailable: true })
      await elasticsearch.indices.putAlias({ index: physical.get(kind) ?? '', name: aliasOf(prefix, kind) })
      await publishPositions(toInstant(0))
    },
    /** The number of open snapshots of its indices. */
    openContexts: async (): Promise<number> => {
      const { _all: all } = await elasticsearch.indices.stats({ index: `${prefix}-*`, metric: 'search' })
      return all.total?.search?.open_contexts ?? 0
    },
    /** Whether Redis is connected, as after a restart. */
    isConnected: () => link.runId() !== undefined,
    close,
  }
}

/** Parses a test record, and adds its append time. */
function readWith<T>(
  read: (key: Buffer, value: Buffer | null) => { ok: true; value: T } | { ok: false; problem: unknown },
  member: string,
  { team, id, entity, revision = 1, appendedAt, partition = 0 }: TestRecord,
  offset: number,
): [T, AppendInfo] {
  const text = typeof entity === 'string' ? entity : JSON.stringify(entity)
  const value = entity === null ? null : Buffer.from(`{"revision":${revision},"${member}":${text}}`)
  const change = read(Buffer.from(`${team}/${id}`), value)
  if (!change.ok) throw new Error(JSON.stringify(change.problem))
  return [change.value, recordedAt((appendedAt as Instant | undefined) ?? toInstant(Date.now()), offset, partition)]
}

/** Maximum bytes of a bulk request, for a small Elasticsearch. */
const bulkBytes = 10_000_000

function inBulks(writes: readonly DocumentWrite[]): readonly (readonly DocumentWrite[])[] {
  const bulks: DocumentWrite[][] = []
  let left = 0
  for (const write of writes) {
    const bulk = bulks.at(-1)
    left -= write.source.length
    if (bulk !== undefined && left >= 0) bulk.push(write)
    else {
      bulks.push([write])
      left = bulkBytes - write.source.length
    }
  }
  return bulks
}
