import { keyIdOf, openCursor, parseCursor } from '../../src/api/changeCursor.ts'
import { entityTypes, type TeamId } from '../../src/core/model/ids.ts'
import type { CursorKey } from '../../src/core/redis/visiblePositions.ts'
import { gone } from '../model/journal.ts'
import type { DocumentTopic } from './history.ts'
import { type Appended, revisionIn, type SimulatedJournal } from './journal.ts'
import type { System } from './system.ts'
import { Violation } from './world/world.ts'

/** Collects the keys that seal cursors from Redis, because a client may still have a cursor when Redis has lost its key. */
export class CursorKeys {
  readonly #system: System
  readonly #keys = new Map<string, CursorKey>()

  constructor(system: System) {
    this.#system = system
  }

  /** Call after each script of Redis: only scripts write these keys. */
  collect(): void {
    const { simulatedRedis } = this.#system.engines
    for (const topic of entityTypes)
      for (const name of simulatedRedis.namesWith(`${this.#system.config.INDEX_PREFIX}:visible-positions:${topic}:`)) {
        const key = simulatedRedis.hash(name)['cursorKey'] as CursorKey | undefined
        if (key !== undefined) this.#keys.set(keyIdOf(key), key)
      }
  }

  get(keyId: string): CursorKey | undefined {
    return this.#keys.get(keyId)
  }
}

type Item = { readonly id: string; readonly title?: string; readonly serialNumber?: number }

/** Compares the copy of a follower with the log, up to the positions in its cursor. */
export class CursorCheck {
  readonly #keys: CursorKeys
  readonly #journal: SimulatedJournal
  readonly #team: string
  readonly #topic: DocumentTopic

  constructor(keys: CursorKeys, journal: SimulatedJournal, team: string, topic: DocumentTopic) {
    this.#keys = keys
    this.#journal = journal
    this.#team = team
    this.#topic = topic
  }

  /** Throws unless the copy has exactly the state of every entity that has not changed at or above the positions. */
  expectWhole(text: string, items: ReadonlyMap<string, Item>): void {
    const since = this.#sinceOf(text)
    for (const [key, { partition, offset, revision = 0 }] of this.#newest()) {
      if (offset >= BigInt(since[partition] ?? 0) || this.#journal.forgottenKeys(this.#topic).has(key)) continue
      const item = items.get(key.slice(this.#team.length + 1))
      const copiedRevision = item === undefined ? gone : revisionIn(item)
      if (copiedRevision !== revision)
        throw new Violation(
          'a copy has everything below its cursor',
          `${this.#topic} ${key} is held at ${copiedRevision}, and ${revision} was appended at ${partition}/${offset}, below ${since[partition]}`,
        )
    }
  }

  /** Whether the cursor's positions are above every record of the team and topic that counts. */
  isAtEnd(text: string): boolean {
    const since = this.#sinceOf(text)
    return [...this.#newest().values()].every(({ partition, offset }) => offset < BigInt(since[partition] ?? 0))
  }

  #sinceOf(text: string): readonly number[] {
    const sealed = parseCursor(text, this.#topic)
    if (sealed.kind !== 'sealed') throw new Error(`the cursor is ${sealed.kind}`)
    const key = this.#keys.get(sealed.keyId)
    const scope = { type: this.#topic, teamId: this.#team as TeamId, view: 'summary', fields: undefined } as const
    const cursor = key && openCursor(sealed, key, scope)
    if (cursor === undefined) throw new Error('the cursor cannot be opened')
    return cursor.since
  }

  /** For each entity of the team, the first record with its highest revision. */
  #newest(): ReadonlyMap<string, Appended> {
    const newest = new Map<string, Appended>()
    for (const entry of this.#journal.entries) {
      if (entry.topic !== this.#topic || entry.revision === undefined || !entry.key.startsWith(`${this.#team}/`))
        continue
      if (entry.revision > (newest.get(entry.key)?.revision ?? 0)) newest.set(entry.key, entry)
    }
    return newest
  }
}
