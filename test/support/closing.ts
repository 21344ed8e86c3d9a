type Closable = { close(): Promise<unknown> }

/** Call in a file or block. The returned function registers a resource, which is closed after the current test, and returns the resource. */
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
