import { type DocumentId, type EntityType, entityTypes } from '../../src/core/model/ids.ts'
import { type LogPosition, logPosition, offsetOf, partitionOf } from '../../src/core/model/logPosition.ts'
import type { RequestOptions } from '../../src/core/stores/elasticsearch.ts'
import { kindsOf } from '../../src/core/stores/indices.ts'
import { multiGet, scan } from '../../src/core/stores/readDocuments.ts'
import { readPublishedPositions } from '../../src/core/stores/readVisiblePositions.ts'
import type { CommandTools } from '../engineCommand.ts'
import { entityTypeIn } from '../topics.ts'
import type { VisiblePartition } from '../visibilityPublisher.ts'
import type { Generation } from './generation.ts'

const documentsPerRequest = 2_000

/** A list document of the new generation. */
type ListState = { readonly id: DocumentId; readonly version: number; readonly position: LogPosition }

/** Partition → offset: every record below it was compared, or is to be. */
type Positions = ReadonlyMap<number, number>

/**
 * Finds states that the new generation has and the old one never had, although it has read past them: their records are dead letters. Example:
 * Elasticsearch refuses `a@5` at offset 10. A follower reads on to offset 20. A rebuild reads offset 10 again, and now Elasticsearch takes `a@5`, or a
 * newer release accepts it. In the new generation `a` is at offset 10, which the follower has passed: it must be told to start anew.
 */
export class MissedStates {
  readonly #tools: CommandTools
  readonly #from: Generation
  readonly #to: Generation
  readonly #types: readonly EntityType[]
  readonly #request: RequestOptions
  readonly #compared = new Map<EntityType, Positions>()
  /** What the old generation lacked when it was compared. A newer state may have come since. */
  readonly #lacking = new Map<EntityType, Set<DocumentId>>()

  /** `replaced`: types whose followers start anew anyhow. */
  constructor(tools: CommandTools, from: Generation, to: Generation, replaced: ReadonlySet<EntityType>) {
    this.#tools = tools
    this.#from = from
    this.#to = to
    this.#types = entityTypes.filter((type) => !replaced.has(type))
    this.#request = { signal: tools.signal }
  }

  /**
   * Compares what both generations have read since the last call. The new one must be refreshed. `reached`: what the new one shows of each partition;
   * `afterPart` is called every few seconds at least.
   */
  async compare(reached: readonly VisiblePartition[], afterPart = async (): Promise<void> => undefined): Promise<void> {
    const { redis, config } = this.#tools
    for (const type of this.#types) {
      const published = await readPublishedPositions(redis, type, this.#from.tag)
      const compared = this.#compared.get(type) ?? new Map<number, number>()
      const ofType = reached.filter(({ topic }) => entityTypeIn(topic, config) === type)
      // Redis may not know what the old generation shows. Followers may have read all of it.
      const below = new Map(
        ofType.map(({ partition, to }) => {
          const read = Math.min(Number(to), published.get(partition) ?? Number(to))
          return [partition, Math.max(read, compared.get(partition) ?? 0)]
        }),
      )
      for await (const states of this.#read(type, compared, below)) {
        const lacking = await this.#lackingOf(type, states)
        const known = this.#lacking.get(type) ?? new Set()
        for (const id of lacking) known.add(id)
        this.#lacking.set(type, known)
        await afterPart()
      }
      this.#compared.set(type, below)
    }
  }

  /** How many of the entities that were found the old generation still lacks; call it when it publishes nothing any more, after `compare`. */
  async count(afterPart: () => Promise<void>): Promise<number> {
    let count = 0
    for (const [type, ids] of this.#lacking) {
      const all = [...ids]
      for (let at = 0; at < all.length; at += documentsPerRequest) {
        const states = await this.#statesOf(type, all.slice(at, at + documentsPerRequest))
        const passed = states.filter(({ position }) => this.#isCompared(type, position))
        count += (await this.#lackingOf(type, passed)).length
        await afterPart()
      }
    }
    return count
  }

  #isCompared(type: EntityType, position: LogPosition): boolean {
    return offsetOf(position) < (this.#compared.get(type)?.get(partitionOf(position)) ?? 0)
  }

  /** Yields the list documents of the new generation whose records lie between two positions of their partitions. */
  async *#read(type: EntityType, from: Positions, below: Positions): AsyncGenerator<ListState[]> {
    const ranges = [...below].flatMap(([partition, offset]) => {
      const first = from.get(partition) ?? 0
      const at = (each: number): LogPosition => logPosition({ partition, offset: BigInt(each) })
      return first < offset ? [{ range: { logPosition: { gte: at(first), lt: at(offset) } } }] : []
    })
    if (ranges.length === 0) return
    const asked = {
      query: { bool: { should: ranges, minimum_should_match: 1 } },
      size: documentsPerRequest,
      _source: false,
      docvalue_fields: [{ field: 'logPosition' }],
    }
    const [list] = kindsOf[type]
    for await (const documents of scan(this.#tools.elasticsearch, this.#to.indices[list], asked, this.#request))
      yield documents.map(({ id, version, fields }) => ({ id, version, position: positionIn(fields) }))
  }

  /** The newest states that the new generation has of these entities. */
  async #statesOf(type: EntityType, ids: readonly DocumentId[]): Promise<ListState[]> {
    const index = this.#to.indices[kindsOf[type][0]]
    const found = await multiGet(this.#tools.elasticsearch, index, ids, ['logPosition'], this.#request)
    return found.flatMap((document) => {
      if (document === undefined) return []
      const { logPosition: position } = JSON.parse(document.source) as { logPosition?: LogPosition }
      return position === undefined ? [] : [{ id: document.id, version: document.version, position }]
    })
  }

  /** Those of which the old generation has an older list document or detail, or none. */
  async #lackingOf(type: EntityType, states: readonly ListState[]): Promise<DocumentId[]> {
    const ids = states.map(({ id }) => id)
    const lacking = new Set<DocumentId>()
    for (const kind of kindsOf[type]) {
      const found = await multiGet(this.#tools.elasticsearch, this.#from.indices[kind], ids, [], this.#request)
      states.forEach(({ id, version }, at) => {
        if ((found[at]?.version ?? 0) < version) lacking.add(id)
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
