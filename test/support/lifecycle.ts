type Ending = { close?(): unknown; stop?(): unknown; disconnect?(): unknown }
/** What one call of `useStarted` or `closeAfterwards` has to end; without a value until it has started. */
type Running = { value?: Ending }

/** In the order of the starts. */
const running: Running[] = []

type StartedOptions = {
  /** Starts a new one for each test instead of one for all tests. */
  readonly forEachTest?: boolean
  /** How long the start may take (ms); by default as long as a test. */
  readonly patienceMs?: number
}

/**
 * Starts a program, server or connection before the tests of a file or block, and ends it after them with its `close`, `stop` or `disconnect`:
 *
 *     const indexer = useStarted('the indexer', () => startProgram('indexer'))
 *     test('answers', () => fetch(indexer.url))
 *
 * Jest runs the first line before any hook, so `indexer` cannot be the program itself: it reads each member from the program that runs now.
 * A read before the start throws "the indexer has not started".
 *
 * Several of them end in the reverse order of their starts, also when a later one could not start.
 */
export function useStarted<T extends object>(
  what: string,
  start: () => T | Promise<T>,
  { forEachTest = false, patienceMs }: StartedOptions = {},
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
  const current = (): T => {
    if (own.value === undefined) throw new Error(`${what} has not started`)
    return own.value
  }
  return readingFrom(current, () => Reflect.ownKeys(current()))
}

/** Closes, stops or disconnects `value` at the end of the test or file, before whatever `useStarted` has started earlier. */
export function closeAfterwards<T extends object>(value: T): T {
  running.push({ value })
  return value
}

/** `original`, with `replaced` in the place of its members of the same names: a client of which one method is a fake, for example. */
export const withMembers = <Original extends object, Replaced extends object>(
  original: Original,
  replaced: Replaced,
): Omit<Original, keyof Replaced> & Replaced =>
  readingFrom(
    (name = '') => (name in replaced ? replaced : original),
    () => [...new Set([...Reflect.ownKeys(original), ...Reflect.ownKeys(replaced)])],
  )

/** An object that reads each member, when it is used, from the object that `ownerOf` returns for its name. It can be spread. */
const readingFrom = <T extends object>(
  ownerOf: (name?: string | symbol) => object,
  names: () => (string | symbol)[],
): T =>
  new Proxy({} as T, {
    get: (_target, name) => {
      const owner = ownerOf(name)
      const member: unknown = Reflect.get(owner, name)
      return typeof member === 'function' ? (member.bind(owner) as unknown) : member
    },
    ownKeys: names,
    getOwnPropertyDescriptor: (_target, name) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(ownerOf(name), name)
      return descriptor && { ...descriptor, configurable: true }
    },
  })
