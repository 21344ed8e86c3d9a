import { readFile, writeFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { Command } from 'commander'

/**
 * The health check of a container. Exits with 0 if the admin port answers with a success status, or there is none (`ADMIN_PORT=0`). Otherwise prints the failed
 * checks, and exits with 1; without `ADMIN_PORT`, with 78.
 * Docker does not restart an unhealthy container, only one whose process ends. So this kills a process that accepts connections and never answers.
 */
export const command = new Command().argument('<path>', '/livez or /readyz').action(async (path: string) => {
  const port = process.env['ADMIN_PORT']
  if (!port)
    command.error('ADMIN_PORT must be that of the process: by default 9101 (api), 9102 (indexer) or 9103 (settings)', {
      exitCode: 78,
    })
  if (port === '0') return
  const host = process.env['ADMIN_HOST'] || '127.0.0.1'
  // Connecting to `0.0.0.0` or `::` reaches loopback.
  const answer = await requestHealth(`http://${isIPv6(host) ? `[${host}]` : host}:${port}${path}`)
  if (answer === 'silence') await killService()
  process.exitCode = answer === 'yes' ? 0 : 1
})

type Answer = 'yes' | 'no' | 'silence'
type CheckResults = Readonly<Record<string, { readonly ok: boolean; readonly problem?: string }>>

const attempts = 3
const attemptMs = 5_000

/** A container that was paused needs a moment; a process that refuses the connection is starting or ending. */
async function requestHealth(url: string): Promise<Answer> {
  for (let attempt = 0; attempt < attempts; attempt++)
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(attemptMs) })
      const { checks = {} } = (await response.json().catch(() => ({}))) as { readonly checks?: CheckResults }
      for (const [name, { ok, problem }] of Object.entries(checks))
        if (!ok) process.stdout.write(`${name}: ${problem}\n`)
      return response.ok ? 'yes' : 'no'
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') continue
      process.stdout.write(`${url} does not answer\n`)
      return 'no'
    }
  return 'silence'
}

/** The service is a child of the container's init. Without one it is process 1, which nothing inside the container can kill. */
async function killService(): Promise<void> {
  const isRunByDocker = process.ppid === 0
  if (!isRunByDocker) return
  const children = (await readFile('/proc/1/task/1/children', 'utf8')).trim().split(' ')
  const msg = `hangs: no answer to ${attempts} health checks of ${attemptMs / 1_000} s; killed`
  for (const pid of children.map(Number).filter((pid) => pid > 1)) {
    await writeFile('/proc/1/fd/2', `${JSON.stringify({ level: 60, time: Date.now(), name: 'health', msg })}\n`)
    process.kill(pid, 'SIGKILL')
  }
}
