import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import { kindsOf } from '../../src/core/elasticsearch/indices.ts'
import { multiGet, scan } from '../../src/core/elasticsearch/readDocuments.ts'
import { type DocumentId, type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import { type LogPosition, logPosition, offsetOf, partitionOf } from '../../src/core/model/logPosition.ts'
import { readPublishedPositions } from '../../src/core/redis/readVisiblePositions.ts'
import type { CommandTools } from '../engineCommand.ts'
import type { VisiblePartition } from '../progressPublisher.ts'
import { entityTypeIn } from '../topics.ts'
import type { Generation } from './generation.ts'
import type { SwitchLock } from './switchLock.ts'

const documentsPerRequest = 2_000

type ListState = { readonly id: DocumentId; readonly version: number; readonly position: LogPosition }

/** Partition → an offset: every record below it was compared, or is to be compared. */
type EndOffsets = ReadonlyMap<number, number>

/**
 * Finds states that the new generation has and the old one never had, because their records were dead letters. Example:
 * 1. An indexer reads `a@5` at offset 10. Elasticsearch rejects it. A follower reads the change feed up to offset 20.
 * 2. A rebuild reads offset 10 again. Now Elasticsearch, or the contract of a newer release, accepts `a@5`.
 * 3. `a@5` has the position of offset 10 in the new generation. The follower has passed it, and would never get `a@5`. So the follower's cursor is to be
 *    refused: it starts anew.
 */
export class FormerDeadLetters {
  readonly #tools: CommandTools
  readonly #from: Generation
  readonly #to: Generation
  readonly #types: readonly EntityType[]
  readonly #request: RequestOptions
  readonly #comparedBelow = new Map<EntityType, EndOffsets>()
  /** The entities whose states the old generation lacked when they were compared. It may have got the states since. */
  readonly #lacking = new Map<EntityType, Set<DocumentId>>()

  /** `replaced`: the types with a replaced log, whose followers start anew in any case. */
  constructor(tools: CommandTools, from: Generation, to: Generation, replaced: ReadonlySet<EntityType>) {
    this.#tools = tools
    this.#from = from
    this.#to = to
    this.#types = entityTypes.filter((type) => !replaced.has(type))
    this.#request = { signal: tools.signal }
  }

  /**
   * Compares the states whose positions both generations have reached since the last call. The new generation must be refreshed. `reached`: its visible
   * partitions; `lock`: extended at least every few seconds; undefined before the switch.
   */
  async compare(reached: readonly VisiblePartition[], lock: SwitchLock | undefined): Promise<void> {
    const { redis, config } = this.#tools
    for (const type of this.#types) {
      const published = await readPublishedPositions(redis, type, this.#from.tag)
      const compared = this.#comparedBelow.get(type) ?? new Map<number, number>()
      const ofType = reached.filter(({ topic }) => entityTypeIn(topic, config) === type)
      // If Redis has no position of the old generation, followers may have read the partition to any offset.
      const below = new Map(
        ofType.map(({ partition, to }) => {
          const end = Math.min(Number(to), published.get(partition)?.position ?? Number(to))
          return [partition, Math.max(end, compared.get(partition) ?? 0)]
        }),
      )
      for await (const states of this.#read(type, compared, below)) {
        const ids = this.#lacking.get(type) ?? new Set()
        for (const id of await this.#lackingOf(type, states)) ids.add(id)
        this.#lacking.set(type, ids)
        await lock?.extend()
      }
      this.#comparedBelow.set(type, below)
    }
  }

  /** The number of entities whose states the old generation lacked and still lacks. To be called last, under the lock of the switch. */
  async count(lock: SwitchLock): Promise<number> {
    let count = 0
    for (const [type, ids] of this.#lacking) {
      const allIds = [...ids]
      for (let at = 0; at < allIds.length; at += documentsPerRequest) {
        const states = await this.#statesOf(type, allIds.slice(at, at + documentsPerRequest))
        const comparedStates = states.filter(({ position }) => this.#isCompared(type, position))
        count += (await this.#lackingOf(type, comparedStates)).length
        await lock.extend()
      }
    }
    return count
  }

  #isCompared(type: EntityType, position: LogPosition): boolean {
    return offsetOf(position) < (this.#comparedBelow.get(type)?.get(partitionOf(position)) ?? 0)
  }

  /** In each partition, from `from` (inclusive) to `below` (exclusive). */
  async *#read(type: EntityType, from: EndOffsets, below: EndOffsets): AsyncGenerator<ListState[]> {
    const ranges = [...below].flatMap(([partition, offset]) => {
      const first = from.get(partition) ?? 0
      const positionOf = (at: number): LogPosition => logPosition({ partition, offset: BigInt(at) })
      return first < offset ? [{ range: { logPosition: { gte: positionOf(first), lt: positionOf(offset) } } }] : []
    })
    if (ranges.length === 0) return
    const search = {
      query: { bool: { should: ranges, minimum_should_match: 1 } },
      size: documentsPerRequest,
      _source: false,
      docvalue_fields: [{ field: 'logPosition' }],
    }
    const [list] = kindsOf[type]
    for await (const documents of scan(this.#tools.elasticsearch, this.#to.indices[list], search, this.#request))
      yield documents.map(({ id, version, fields }) => ({ id, version, position: positionIn(fields) }))
  }

  async #statesOf(type: EntityType, ids: readonly DocumentId[]): Promise<ListState[]> {
    const index = this.#to.indices[kindsOf[type][0]]
    const documents = await multiGet(this.#tools.elasticsearch, index, ids, ['logPosition'], this.#request)
    return documents.flatMap((document) => {
      if (document === undefined) return []
      const { logPosition: position } = JSON.parse(document.source) as { logPosition?: LogPosition }
      return position === undefined ? [] : [{ id: document.id, version: document.version, position }]
    })
  }

  async #lackingOf(type: EntityType, states: readonly ListState[]): Promise<DocumentId[]> {
    const ids = states.map(({ id }) => id)
    const lacking = new Set<DocumentId>()
    for (const kind of kindsOf[type]) {
      const documents = await multiGet(this.#tools.elasticsearch, this.#from.indices[kind], ids, [], this.#request)
      states.forEach(({ id, version }, at) => {
        if ((documents[at]?.version ?? 0) < version) lacking.add(id)
      })
    }
    return [...lacking]
  }
}

function positionIn(fields: string): LogPosition {
  const { logPosition: [position] = [] } = JSON.parse(fields) as { logPosition?: LogPosition[] }
  if (position === undefined) throw new Error('a list document of the new generation has no position')
  return position
}
