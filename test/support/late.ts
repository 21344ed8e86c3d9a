/** A proxy for a value that a hook sets later: each use reads the current value. */
export const late = <T extends object>(what: string, current: () => T | undefined): T =>
  new Proxy({} as T, {
    get: (_target, name) => {
      const value = current()
      if (value === undefined) throw new Error(`${what} has not started`)
      const member: unknown = Reflect.get(value, name)
      return typeof member === 'function' ? (member.bind(value) as unknown) : member
    },
  })

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
  new Proxy(own, {
    get: (target, name) => Reflect.get(name in target ? target : other, name) as unknown,
  }) as Omit<Other, keyof Own> & Own
