import { type Keyspace, ReplyError } from './keyspace.ts'

/** A status reply such as `OK`, which Lua sees as a table. */
export class Status {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Reply = string | number | null | Status | Reply[]

type Command = (keys: Keyspace, args: readonly string[]) => Reply

const ok = new Status('OK')
const noExpiry = -1
const noKey = -2

/** The commands that the product and its scripts use, in lower case, except those that need more than the keyspace. */
export const commands = {
  ping: () => new Status('PONG'),
  time: (keys) => {
    const nowMs = keys.nowMs()
    return [String(Math.floor(nowMs / 1_000)), String(Math.floor((nowMs % 1_000) * 1_000))]
  },
  exists: (keys, names) => names.filter((key) => keys.has(key)).length,
  del: (keys, names) => names.filter((key) => keys.delete(key)).length,
  expire: (keys, [key = '', seconds]) => expireAfter(keys, key, 1_000 * integer(seconds)),
  pexpire: (keys, [key = '', ms]) => expireAfter(keys, key, integer(ms)),
  pttl: (keys, [key = '']) => {
    const expiresAtMs = keys.expiryOf(key)
    if (expiresAtMs !== undefined) return expiresAtMs - keys.nowMs()
    return keys.has(key) ? noExpiry : noKey
  },
  /** For prefixes alone, such as tests clear. */
  keys: (keys, [pattern = '']) => keys.namesWith(pattern.slice(0, -1)),
  /** All in one page. */
  scan: (keys, [, , pattern = '']) => ['0', keys.namesWith(pattern.slice(0, -1))],

  get: (keys, [key = '']) => textOf(keys, key),
  mget: (keys, names) => names.map((key) => keys.read('string', key)?.text ?? null),
  set: (keys, [key = '', text = '', ...options]) => set(keys, key, text, optionsOf(options)),
  mset: (keys, pairs) => {
    for (const [key, text] of pairsOf(pairs)) keys.write(key, { kind: 'string', text }, undefined)
    return ok
  },
  incrby: (keys, [key = '', by]) => {
    const sum = integer(textOf(keys, key) ?? '0') + integer(by)
    keys.write(key, { kind: 'string', text: String(sum) }, keys.expiryOf(key))
    return sum
  },

  hget: (keys, [key = '', field = '']) => fieldsOf(keys, key).get(field) ?? null,
  hmget: (keys, [key = '', ...fields]) => fields.map((field) => fieldsOf(keys, key).get(field) ?? null),
  hgetall: (keys, [key = '']) => [...fieldsOf(keys, key)].flat(),
  hset: (keys, [key = '', ...pairs]) => {
    const before = fieldsOf(keys, key)
    const fields = new Map([...before, ...pairsOf(pairs)])
    keys.write(key, { kind: 'hash', fields }, keys.expiryOf(key))
    return fields.size - before.size
  },
  hdel: (keys, [key = '', ...gone]) => {
    const before = fieldsOf(keys, key)
    const fields = new Map([...before].filter(([field]) => !gone.includes(field)))
    if (fields.size < before.size) keys.write(key, { kind: 'hash', fields }, keys.expiryOf(key))
    return before.size - fields.size
  },
  hincrby: (keys, [key = '', field = '', by]) => {
    const before = fieldsOf(keys, key)
    const sum = integer(before.get(field) ?? '0') + integer(by)
    keys.write(key, { kind: 'hash', fields: new Map([...before, [field, String(sum)]]) }, keys.expiryOf(key))
    return sum
  },
  hkeys: (keys, [key = '']) => [...fieldsOf(keys, key).keys()],
  hlen: (keys, [key = '']) => fieldsOf(keys, key).size,
  hvals: (keys, [key = '']) => [...fieldsOf(keys, key).values()],

  smembers: (keys, [key = '']) => [...membersOf(keys, key)],
  sadd: (keys, [key = '', ...added]) => {
    const before = membersOf(keys, key)
    const members = new Set([...before, ...added])
    keys.write(key, { kind: 'set', members }, keys.expiryOf(key))
    return members.size - before.size
  },
  srem: (keys, [key = '', ...gone]) => {
    const before = membersOf(keys, key)
    const members = new Set([...before].filter((member) => !gone.includes(member)))
    if (members.size < before.size) keys.write(key, { kind: 'set', members }, keys.expiryOf(key))
    return before.size - members.size
  },
} as const satisfies Record<string, Command>

/** The commands that Redis refuses when out of memory. */
export const growing: ReadonlySet<string> = new Set(['set', 'mset', 'incrby', 'hset', 'hincrby', 'sadd'])
/** All commands that may write. */
export const writing: ReadonlySet<string> = new Set([...growing, 'del', 'expire', 'pexpire', 'hdel', 'srem'])

const textOf = (keys: Keyspace, key: string): string | null => keys.read('string', key)?.text ?? null
const fieldsOf = (keys: Keyspace, key: string): ReadonlyMap<string, string> =>
  keys.read('hash', key)?.fields ?? new Map()
const membersOf = (keys: Keyspace, key: string): ReadonlySet<string> => keys.read('set', key)?.members ?? new Set()

function integer(text: string | undefined): number {
  if (text === undefined || !/^-?\d{1,15}$/.test(text))
    throw new ReplyError('ERR value is not an integer or out of range')
  return Number(text)
}

function pairsOf(values: readonly string[]): [string, string][] {
  return Array.from({ length: values.length / 2 }, (_, at) => [values[2 * at] ?? '', values[2 * at + 1] ?? ''])
}

/** Option names in lower case → values; `NX` has none. */
function optionsOf(words: readonly string[]): ReadonlyMap<string, string> {
  const options = new Map<string, string>()
  for (let at = 0; at < words.length; ) {
    const name = words[at++]?.toLowerCase() ?? ''
    if (!['px', 'ex', 'nx'].includes(name)) throw new ReplyError('ERR syntax error')
    options.set(name, name === 'nx' ? '' : (words[at++] ?? ''))
  }
  return options
}

function set(keys: Keyspace, key: string, text: string, options: ReadonlyMap<string, string>): Reply {
  const [ms, seconds] = [options.get('px'), options.get('ex')]
  const lifeMs = ms !== undefined ? integer(ms) : seconds !== undefined ? 1_000 * integer(seconds) : undefined
  if (lifeMs !== undefined && lifeMs <= 0) throw new ReplyError("ERR invalid expire time in 'set' command")
  if (options.has('nx') && keys.has(key)) return null
  keys.write(key, { kind: 'string', text }, lifeMs === undefined ? undefined : keys.nowMs() + lifeMs)
  return ok
}

function expireAfter(keys: Keyspace, key: string, ms: number): number {
  if (!keys.has(key)) return 0
  keys.expireAt(key, keys.nowMs() + ms)
  return 1
}
