/**
 * Removes all containers with a label on SIGTERM: `node containerReaper.ts <label> <value>`. It runs as a warded program,
 * so it gets SIGTERM once the process that started the containers has ended.
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
  // Imported late, so that SIGTERM has its listener at once.
  const { getContainerRuntimeClient } = await import('testcontainers')
  const { container: client } = await getContainerRuntimeClient()
  for (;;) {
    const container = await client.fetchByLabel(label, value, { status: ['created', 'running', 'exited'] })
    if (container === undefined) return
    await container.remove({ force: true, v: true })
  }
}
