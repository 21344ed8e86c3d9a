/** The value of a key. Immutable, so that keeping earlier states costs nothing. */
export type Value =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'hash'; readonly fields: ReadonlyMap<string, string> }
  | { readonly kind: 'set'; readonly members: ReadonlySet<string> }

type Entry = { readonly value: Value; readonly expiresAtMs: number | undefined }
type Change = { readonly atMs: number; readonly key: string; readonly before: Entry | undefined }

/** An error reply of Redis. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

/** How far back (ms) a state can be restored. */
const historyMs = 60_000

/** The keys of a simulated Redis, with expiry, and their changes in the last minute. */
export class Keyspace {
  readonly #nowMs: () => number
  readonly #entries = new Map<string, Entry>()
  #history: Change[] = []
  #trimAt = 1_000

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** The time of the server (epoch ms). */
  nowMs(): number {
    return this.#nowMs()
  }

  /** Undefined for a missing key; throws `WRONGTYPE` for a value of another kind. */
  read<K extends Value['kind']>(kind: K, key: string): Extract<Value, { kind: K }> | undefined {
    const value = this.#find(key)?.value
    if (value !== undefined && value.kind !== kind)
      throw new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value')
    return value as Extract<Value, { kind: K }> | undefined
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  /** When a key expires (epoch ms); undefined for a missing key and one without expiry. */
  expiryOf(key: string): number | undefined {
    return this.#find(key)?.expiresAtMs
  }

  /** Sets a key that expires at `expiresAtMs` (epoch ms). An empty hash or set deletes the key. */
  write(key: string, value: Value, expiresAtMs: number | undefined): void {
    if (isEmpty(value)) this.delete(key)
    else this.#put(key, { value, expiresAtMs })
  }

  /** Sets when an existing key expires (epoch ms); at once for a past time. */
  expireAt(key: string, expiresAtMs: number): void {
    const entry = this.#find(key)
    if (entry !== undefined) this.#put(key, expiresAtMs <= this.#nowMs() ? undefined : { ...entry, expiresAtMs })
  }

  /** Deletes a key; false if it did not exist. */
  delete(key: string): boolean {
    const existed = this.has(key)
    if (existed) this.#put(key, undefined)
    return existed
  }

  flush(): void {
    for (const key of [...this.#entries.keys()]) this.#put(key, undefined)
  }

  namesWith(prefix: string): string[] {
    return [...this.#entries.keys()].filter((key) => key.startsWith(prefix) && this.has(key))
  }

  /** Reverts the writes of the last `lastMs` of the server's clock. */
  lose(lastMs: number): void {
    if (lastMs > historyMs) throw new RangeError(`the state of ${lastMs} ms ago is not kept`)
    const lostFromMs = this.#nowMs() - lastMs
    const keptCount = this.#history.findLastIndex(({ atMs }) => atMs <= lostFromMs) + 1
    for (const { key, before } of this.#history.splice(keptCount).reverse()) this.#set(key, before)
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry?.expiresAtMs === undefined || this.#nowMs() < entry.expiresAtMs) return entry
    this.#entries.delete(key)
    return undefined
  }

  #put(key: string, entry: Entry | undefined): void {
    const atMs = this.#nowMs()
    this.#history.push({ atMs, key, before: this.#entries.get(key) })
    if (this.#history.length > this.#trimAt) {
      this.#history = this.#history.filter((change) => change.atMs >= atMs - historyMs)
      this.#trimAt = 1_000 + 2 * this.#history.length
    }
    this.#set(key, entry)
  }

  #set(key: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#entries.delete(key)
    else this.#entries.set(key, entry)
  }
}

function isEmpty(value: Value): boolean {
  switch (value.kind) {
    case 'string':
      return false
    case 'hash':
      return value.fields.size === 0
    case 'set':
      return value.members.size === 0
  }
}
