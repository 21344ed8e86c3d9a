import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { choosePort } from '../../../engines/ports.ts'
import { unlimited } from '../../processes.ts'
import { readMetrics, sumOf } from '../../scale/ownMetrics.ts'
import type { Stage } from '../../stage.ts'
import { etagOf } from '../etag.ts'
import { listRequest } from '../lists.ts'
import { startServer, untilStarted, within } from '../ownServer.ts'
import type { ServedReplica } from '../replica.ts'

export const serverNames = ['API', 'koa', 'node:http'] as const
export type ServerName = (typeof serverNames)[number]

/** A server that is started anew each time, so that its memory is that of its connections. */
export type Server = { readonly name: ServerName; start(): Promise<RunningServer> }

export type RunningServer = {
  readonly port: number
  /** What is asked of it, as it stands on the wire, and the status that answers it without a body. */
  readonly request: string
  readonly status: number
  residentBytes(): Promise<number>
  stop(): Promise<void>
}

const status = 304
const bareServerPath = fileURLToPath(new URL('./bareServer.ts', import.meta.url))

/** An API process of its own; asked with a key whether a list is still the same, which it is. */
export const apiServer = (stage: Stage, { origin, accountKey }: ServedReplica): Server => ({
  name: 'API',
  start: async () => {
    const [port, adminPort] = [await choosePort(), await choosePort()]
    const environment = { PORT: String(port), ADMIN_PORT: String(adminPort), RATE_LIMIT_PER_MINUTE: unlimited }
    const { stop } = await stage.start('api', environment, join(stage.logsFolder, 'idle'))
    const read = async (): Promise<number> =>
      sumOf(await readMetrics(`http://127.0.0.1:${adminPort}`, within(stage)), 'process_resident_memory_bytes')
    await untilStarted(() => fetch(`http://127.0.0.1:${adminPort}/readyz`, { signal: within(stage) }), stage)
    const etag = await etagOf({ origin, accountKey, stage }, 20)
    const { path, headers } = listRequest({ limit: 20, page: 1, filter: 'none' }, accountKey, etag)
    return { port, request: wireText(path, headers), status, residentBytes: read, stop }
  },
})

/** A server that does nothing: what connections cost anyhow. */
export const bareServer = (stage: Stage, name: Exclude<ServerName, 'API'>): Server => ({
  name,
  start: async () => {
    const { port, origin, stop } = await startServer(stage, {
      path: bareServerPath,
      more: [name],
      alivePath: '/resident',
    })
    const residentBytes = async (): Promise<number> =>
      Number(await (await fetch(`${origin}/resident`, { signal: within(stage) })).text())
    return { port, request: wireText('/', {}), status, residentBytes, stop }
  },
})

const wireText = (path: string, headers: Readonly<Record<string, string>>): string =>
  [
    `GET ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n')
