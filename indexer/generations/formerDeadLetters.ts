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

/** As the list document in the new generation has it. */
type ListState = { readonly id: DocumentId; readonly version: number; readonly position: LogPosition }

/** Partition → an offset: the states from records below it were, or are to be, compared. */
type EndOffsets = ReadonlyMap<number, number>

/**
 * Finds states that the new generation has and the old one never had: their records were dead letters. Example, with revision 5 of `a` (`a@5`):
 * 1. An indexer reads `a@5` at offset 10. Elasticsearch rejects it. A follower reads the change feed up to offset 20.
 * 2. A rebuild reads offset 10 again. Now Elasticsearch, or the contract of a newer release, accepts `a@5`.
 * 3. The follower has passed the position of `a@5`, and would never get it. So its cursor is to be refused: it starts anew.
 */
export class FormerDeadLetters {
  readonly #tools: CommandTools
  readonly #from: Generation
  readonly #to: Generation
  readonly #types: readonly EntityType[]
  readonly #request: RequestOptions
  readonly #comparedBelow = new Map<EntityType, EndOffsets>()
  /** The entities whose state the old generation did not have when `compare` read it. It may have it by now. */
  readonly #lackedByOld = new Map<EntityType, Set<DocumentId>>()

  /** Followers of `replaced` types start anew in any case. */
  constructor(tools: CommandTools, from: Generation, to: Generation, replaced: ReadonlySet<EntityType>) {
    this.#tools = tools
    this.#from = from
    this.#to = to
    this.#types = entityTypes.filter((type) => !replaced.has(type))
    this.#request = { signal: tools.signal }
  }

  /**
   * Compares the states whose positions both generations have reached since the last call. The new generation must be refreshed. `lock`: undefined before it is
   * acquired.
   */
  async compare(visible: readonly VisiblePartition[], lock: SwitchLock | undefined): Promise<void> {
    const { redis, config } = this.#tools
    for (const type of this.#types) {
      const publishedByOld = await readPublishedPositions(redis, type, this.#from.tag)
      const comparedBelow = this.#comparedBelow.get(type) ?? new Map<number, number>()
      const ofType = visible.filter(({ topic }) => entityTypeIn(topic, config) === type)
      const compareBelow = new Map(
        ofType.map(({ partition, to }) => {
          // Without a position of the old generation, followers may have read the partition to any offset.
          const publishedEnd = publishedByOld.get(partition)?.position ?? Number(to)
          const end = Math.min(Number(to), publishedEnd)
          return [partition, Math.max(end, comparedBelow.get(partition) ?? 0)]
        }),
      )
      const lackedByOld = this.#lackedByOld.get(type) ?? new Set()
      this.#lackedByOld.set(type, lackedByOld)
      for await (const states of this.#readStates(type, comparedBelow, compareBelow)) {
        for (const id of await this.#lackedOf(type, states)) lackedByOld.add(id)
        await lock?.extend()
      }
      this.#comparedBelow.set(type, compareBelow)
    }
  }

  /** The number of entities whose states the old generation still lacks. To be called last, under the lock of the switch. */
  async count(lock: SwitchLock): Promise<number> {
    let count = 0
    for (const [type, lackedByOld] of this.#lackedByOld) {
      const ids = [...lackedByOld]
      for (let start = 0; start < ids.length; start += documentsPerRequest) {
        const states = await this.#statesOf(type, ids.slice(start, start + documentsPerRequest))
        // A state that is newer than the comparison has a position above every cursor: followers will get it.
        const comparedStates = states.filter(({ position }) => this.#isCompared(type, position))
        count += (await this.#lackedOf(type, comparedStates)).length
        await lock.extend()
      }
    }
    return count
  }

  #isCompared(type: EntityType, position: LogPosition): boolean {
    return offsetOf(position) < (this.#comparedBelow.get(type)?.get(partitionOf(position)) ?? 0)
  }

  async *#readStates(type: EntityType, start: EndOffsets, end: EndOffsets): AsyncGenerator<ListState[]> {
    const ranges = [...end].flatMap(([partition, endOffset]) => {
      const startOffset = start.get(partition) ?? 0
      const positionOf = (offset: number): LogPosition => logPosition({ partition, offset: BigInt(offset) })
      const positions = { gte: positionOf(startOffset), lt: positionOf(endOffset) }
      return startOffset < endOffset ? [{ range: { logPosition: positions } }] : []
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
    const [list] = kindsOf[type]
    const index = this.#to.indices[list]
    const documents = await multiGet(this.#tools.elasticsearch, index, ids, ['logPosition'], this.#request)
    return documents.flatMap((document) => {
      if (document === undefined) return []
      const { logPosition: position } = JSON.parse(document.source) as { logPosition?: LogPosition }
      return position === undefined ? [] : [{ id: document.id, version: document.version, position }]
    })
  }

  async #lackedOf(type: EntityType, states: readonly ListState[]): Promise<DocumentId[]> {
    const ids = states.map(({ id }) => id)
    const lacked = new Set<DocumentId>()
    for (const kind of kindsOf[type]) {
      const documents = await multiGet(this.#tools.elasticsearch, this.#from.indices[kind], ids, [], this.#request)
      for (const [number, { id, version }] of states.entries())
        if ((documents[number]?.version ?? 0) < version) lacked.add(id)
    }
    return [...lacked]
  }
}

/** `fields`: of a search hit, such as `{"logPosition":[42]}`. */
function positionIn(fields: string): LogPosition {
  const { logPosition: [position] = [] } = JSON.parse(fields) as { logPosition?: LogPosition[] }
  if (position === undefined) throw new Error('a list document of the new generation has no position')
  return position
}
