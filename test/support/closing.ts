type Closable = { close(): Promise<unknown> }

/**
 * Called in a file or block, gives a function that takes what a test starts and hands it back; all of it is closed after
 * that test, however it ends.
 */
export function closing(): <T extends Closable>(started: T) => T {
  const open: Closable[] = []
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close()
  })
  return (started) => {
    open.push(started)
    return started
  }
}
