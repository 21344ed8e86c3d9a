/**
 * Removes all containers with a label once it is told to end: `node containerReaper.ts <label> <value>`. As a warded
 * program it outlives whoever started the containers by just that.
 */
const [label = '', value = ''] = process.argv.slice(2)
const waiting = setInterval(() => undefined, 60_000)

process.once('SIGTERM', () => {
  clearInterval(waiting)
  removeAll().catch((error: unknown) => {
    process.stderr.write(`containers with ${label}=${value} could not be removed: ${String(error)}\n`)
    process.exitCode = 1
  })
})

const removeAll = async (): Promise<void> => {
  // Not before: SIGTERM has its listener at once.
  const { getContainerRuntimeClient } = await import('testcontainers')
  const { container: client } = await getContainerRuntimeClient()
  for (;;) {
    const container = await client.fetchByLabel(label, value, { status: ['created', 'running', 'exited'] })
    if (container === undefined) return
    await container.remove({ force: true, v: true })
  }
}
