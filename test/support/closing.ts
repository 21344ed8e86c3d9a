type Closable = { close(): Promise<unknown> }

/** Call in a file or block. The returned function registers a resource of a test, to be closed after that test, and returns it. */
export function closing(): <T extends Closable>(started: T) => T {
  const open: Closable[] = []
  afterEach(async () => {
    for (const resource of open.splice(0).reverse()) await resource.close()
  })
  return (started) => {
    open.push(started)
    return started
  }
}
