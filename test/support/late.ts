/** An object whose members are read from another one with each use; it can be spread. */
const standIn = <T extends object>(objectOf: (name?: string | symbol) => object, names: () => (string | symbol)[]): T =>
  new Proxy({} as T, {
    get: (_target, name) => {
      const object = objectOf(name)
      const member: unknown = Reflect.get(object, name)
      return typeof member === 'function' ? (member.bind(object) as unknown) : member
    },
    ownKeys: names,
    getOwnPropertyDescriptor: (_target, name) => {
      const found = Reflect.getOwnPropertyDescriptor(objectOf(name), name)
      return found && { ...found, configurable: true }
    },
  })

/** A proxy for a value that a hook sets later: each use reads the current value. */
export function late<T extends object>(what: string, current: () => T | undefined): T {
  const now = (): T => {
    const value = current()
    if (value === undefined) throw new Error(`${what} has not started`)
    return value
  }
  return standIn(now, () => Reflect.ownKeys(now()))
}

type Lasting = { readonly forEachTest?: boolean; readonly patienceMs?: number }
type Running = { readonly value?: { close?(): unknown; stop?(): unknown; disconnect?(): unknown } }
/** What runs now, in the order of the starts. */
const running: Running[] = []

/** Ends `value` with what `useStarted` has started before it. */
export function endingToo<T extends object>(value: T): T {
  running.push({ value })
  return value
}

/**
 * What `start` returns, for all tests of a file or block, or for each one. Afterwards it is closed, stopped or disconnected, after whatever was started later; also
 * when another start has failed.
 */
export function useStarted<T extends object>(
  what: string,
  start: () => T | Promise<T>,
  { forEachTest = false, patienceMs }: Lasting = {},
): T {
  const own: { value?: T } = {}
  const [before, after] = forEachTest ? [beforeEach, afterEach] : [beforeAll, afterAll]
  before(async () => {
    running.push(own)
    own.value = await start()
  }, patienceMs)
  after(async () => {
    const at = running.indexOf(own)
    const ending = at === -1 ? [] : running.splice(at).reverse()
    for (const { value } of ending) await (value?.close ?? value?.stop ?? value?.disconnect)?.call(value)
  })
  return late(what, () => own.value)
}

/** Another object's members, and these in front of them. */
export const beside = <Other extends object, Own extends object>(
  other: Other,
  own: Own,
): Omit<Other, keyof Own> & Own =>
  standIn(
    (name = '') => (name in own ? own : other),
    () => [...new Set([...Reflect.ownKeys(other), ...Reflect.ownKeys(own)])],
  )
