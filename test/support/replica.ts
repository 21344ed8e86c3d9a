import { randomUUID } from 'node:crypto'
import { accountKeyPrefix, digestOf } from '../../src/core/model/accountKey.ts'
import {
  deletedRevision,
  type EntityId,
  type Revision,
  randomToken,
  type TeamId,
  type TeamList,
} from '../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import { readFormRecord, readSubmissionRecord } from '../../src/core/model/record.ts'
import { AccountKeyStore } from '../../src/core/stores/accountKeyStore.ts'
import { connectElasticsearch } from '../../src/core/stores/elasticsearch.ts'
import {
  aliasOf,
  documentKinds,
  type GenerationTag,
  physicalName,
  readDefinition,
} from '../../src/core/stores/indices.ts'
import { replaceChangeTokens } from '../../src/core/stores/listVersions.ts'
import { connectRedis } from '../../src/core/stores/redis.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../../src/core/stores/renderDocuments.ts'
import { publishWatermark, setWatermarkGeneration } from '../../src/core/stores/watermark.ts'
import { clearRedis } from './clearRedis.ts'
import { testConfig } from './config.ts'
import { eventually } from './eventually.ts'

/** A replica of its own, filled by hand: what an indexer would have written, without one. */
export type TestReplica = {
  readonly prefix: string
  /** Applies records as they would come from Kafka and makes them searchable. A null entity deletes. */
  storeForms(...records: TestRecord[]): Promise<void>
  storeSubmissions(...records: TestRecord[]): Promise<void>
  /** Stores a key and returns its plaintext. */
  storeKey(team: string, key?: TestKey): Promise<string>
  deleteKey(team: string, id: string): Promise<void>
  completeAccountKeys(): Promise<void>
  loseAccountKeys(): Promise<void>
  publishWatermark(instant: Instant | null): Promise<void>
  /** Publishes a later one, as an indexer does: at no moment is there none. */
  advanceWatermark(instant: Instant): Promise<void>
  /** What an indexer does after a refresh. */
  replaceChangeToken(list: TeamList): Promise<void>
  /** What an indexer does before a write to the list can become visible, and after it has replaced the token. */
  setPending(list: TeamList, isPending: boolean): Promise<void>
  /** Redis forgets watermark and tokens, or a rebuild switches. */
  disturb(event: 'flushed' | 'switched'): Promise<void>
  /** Ends the minutes of all keys' limits. */
  endMinutes(): Promise<void>
  /** The time in which the minute of a key ends. */
  minuteLeftMs(team: string, keyId: string): Promise<number>
  dropAlias(kind: (typeof documentKinds)[number]): Promise<void>
  /** Leads readers to an index whose mappings do not allow what they ask. */
  misleadAlias(kind: (typeof documentKinds)[number]): Promise<void>
  restoreAlias(kind: (typeof documentKinds)[number]): Promise<void>
  /** How many snapshots of its indices are open. */
  openContexts(): Promise<number>
  /** Whether Redis is there, after it was restarted. */
  isConnected(): boolean
  close(): Promise<void>
}

export type TestRecord = {
  readonly team: string
  readonly id: string
  /** The entity as JSON text, or as a value to be rendered. */
  readonly entity: string | Readonly<Record<string, unknown>> | null
  readonly revision?: number
  readonly appendedAt?: string
}

export type TestKey = {
  readonly id?: string
  readonly plaintext?: string
  readonly state?: 'active' | 'revoked'
  readonly expiresAt?: string
  readonly revision?: number
}

export async function createTestReplica(): Promise<TestReplica> {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  const config = testConfig({ INDEX_PREFIX: prefix })
  const elasticsearch = connectElasticsearch(config)
  const link = connectRedis(config, () => undefined)
  const names = link.keys
  const keys = new AccountKeyStore(link)
  const generation = '1-0123456789abcdef' as GenerationTag
  const physical = new Map<string, string>()
  const close = async (): Promise<void> => {
    await elasticsearch.indices.delete({ index: [...physical.values()] })
    await clearRedis(link.client, prefix)
    await link.close()
    await elasticsearch.close()
  }
  try {
    await eventually(() => link.runId() !== undefined)
    const creating = documentKinds.map(async (kind) => {
      const { version, settings, mappings } = await readDefinition(kind)
      const index = physicalName(prefix, kind, version, 1)
      await elasticsearch.indices.create({ index, settings, mappings, aliases: { [aliasOf(prefix, kind)]: {} } })
      physical.set(kind, index)
    })
    await Promise.all(creating)
  } catch (error) {
    await Promise.allSettled([link.close(), elasticsearch.close()])
    throw error
  }

  const advanceWatermark = async (instant: Instant): Promise<void> => {
    await publishWatermark(link, {
      generation,
      owner: 'replica',
      everyPartition: ['forms/0'],
      partitionWatermarks: new Map([['forms/0', Date.parse(instant)]]),
      highestMs: undefined,
      isWithheld: false,
    })
  }

  const misleading = (kind: string): string => `${prefix}-misleading-${kind}`

  const store = async (writes: DocumentWrite[]): Promise<void> => {
    const bulks = inBulks(writes)
    for (const some of bulks) {
      const operations = some.flatMap(({ kind, id, teamId, version, source }) => [
        JSON.stringify({
          index: { _index: aliasOf(prefix, kind), _id: id, routing: teamId, version, version_type: 'external' },
        }),
        source.toString(),
      ])
      const answer = await elasticsearch.bulk({ operations, refresh: bulks.length === 1 })
      const failed = answer.items.find(({ index }) => index?.error !== undefined)
      if (failed !== undefined) throw new Error(JSON.stringify(failed.index?.error))
    }
    if (bulks.length > 1) await elasticsearch.indices.refresh({ index: `${prefix}-*` })
  }
  const bytes = ({ entity, revision = 1 }: TestRecord, member: string): Buffer | null =>
    entity === null
      ? null
      : Buffer.from(
          `{"revision":${revision},"${member}":${typeof entity === 'string' ? entity : JSON.stringify(entity)}}`,
        )
  const appended = ({ appendedAt }: TestRecord): Instant => (appendedAt ?? toInstant(Date.now())) as Instant

  return {
    prefix,
    storeForms: (...records) =>
      store(
        records.flatMap((record) => {
          const change = readFormRecord(Buffer.from(`${record.team}/${record.id}`), bytes(record, 'form'))
          if (!change.ok) throw new Error(JSON.stringify(change.problem))
          return formWrites(change.value, appended(record))
        }),
      ),
    storeSubmissions: (...records) =>
      store(
        records.flatMap((record) => {
          const change = readSubmissionRecord(Buffer.from(`${record.team}/${record.id}`), bytes(record, 'submission'))
          if (!change.ok) throw new Error(JSON.stringify(change.problem))
          return submissionWrites(change.value, appended(record))
        }),
      ),
    storeKey: async (team, { id = 'key-1', plaintext, state = 'active', expiresAt, revision = 1 } = {}) => {
      const key = plaintext ?? `${accountKeyPrefix}${randomUUID()}`
      await keys.apply(team as TeamId, id as EntityId, {
        revision: revision as Revision,
        key: {
          id,
          name: 'a key',
          digest: digestOf(key),
          state,
          createdAt: '2026-01-01T00:00:00.000Z' as Instant,
          createdBy: 'owner-1',
          ...(expiresAt !== undefined && { expiresAt: expiresAt as Instant }),
        },
      })
      return key
    },
    deleteKey: async (team, id) => {
      await keys.apply(team as TeamId, id as EntityId, { revision: deletedRevision, key: null })
    },
    completeAccountKeys: async () => {
      const fold = await keys.beginReplay(randomUUID())
      if (!(await fold.complete())) throw new Error('the key view could not be completed')
    },
    loseAccountKeys: async () => {
      await link.client.del(names.accountKeysComplete)
    },
    publishWatermark: async (instant) => {
      await link.client.del(names.watermark)
      if (instant === null) return
      await setWatermarkGeneration(link, generation, undefined)
      await advanceWatermark(instant)
    },
    advanceWatermark,
    replaceChangeToken: (list) => replaceChangeTokens(link, [list], randomToken),
    setPending: async (list, isPending) => {
      if (isPending) await link.client.hset(names.pendingWrites(list), 'forms/0', 'replica')
      else await link.client.del(names.pendingWrites(list))
    },
    disturb: async (event) => {
      if (event === 'flushed')
        await link.client.del(names.watermark, ...(await link.client.keys(`${prefix}:change-token:*`)))
      const serving = event === 'flushed' ? generation : ('2-0123456789abcdef' as GenerationTag)
      await setWatermarkGeneration(link, serving, undefined)
    },
    endMinutes: async () => {
      const minutes = await link.client.keys(`${names.limitPrefix}*`)
      if (minutes.length > 0) await link.client.del(...minutes)
    },
    minuteLeftMs: (team, keyId) => link.client.pttl(`${names.limitPrefix}:${team}/${keyId}`),
    dropAlias: async (kind) => {
      await elasticsearch.indices.deleteAlias({ index: physical.get(kind) ?? '', name: aliasOf(prefix, kind) })
    },
    misleadAlias: async (kind) => {
      const [alias, index] = [aliasOf(prefix, kind), misleading(kind)]
      await elasticsearch.indices.create({ index, mappings: { properties: { position: { type: 'text' } } } })
      const actions = [{ remove: { index: physical.get(kind) ?? '', alias } }, { add: { index, alias } }]
      await elasticsearch.indices.updateAliases({ actions })
    },
    restoreAlias: async (kind) => {
      await elasticsearch.indices.delete({ index: misleading(kind), ignore_unavailable: true })
      await elasticsearch.indices.putAlias({ index: physical.get(kind) ?? '', name: aliasOf(prefix, kind) })
    },
    openContexts: async () => {
      const { _all: all } = await elasticsearch.indices.stats({ index: `${prefix}-*`, metric: 'search' })
      return all.total?.search?.open_contexts ?? 0
    },
    isConnected: () => link.runId() !== undefined,
    close,
  }
}

/** A small Elasticsearch takes no more at once. */
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
