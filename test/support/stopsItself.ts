import { Transport } from '@elastic/transport'
import { Redis } from 'ioredis'

/**
 * Loaded into a rebuild before its own code (`--import`), it freezes the process (SIGSTOP) just before the request that `STOP_BEFORE` counts,
 * beginning with 1 at the first one after the rebuild has taken hold of the watermark. No timer of the process can run between the freeze and
 * that request. A request like one of the last few is another turn of a loop that waits or pages, and is not counted. With `STOP_BEFORE=switch`
 * it freezes just before the request that switches the aliases.
 */
const stopBefore = process.env['STOP_BEFORE']
const remembered = 6
const recent: string[] = []
let counted = 0

function count(request: string): void {
  if (counted === 0) return
  const isRepeated = recent.includes(request)
  recent.push(request)
  if (recent.length > remembered) recent.shift()
  if (!isRepeated && ++counted === Number(stopBefore) + 1) process.kill(process.pid, 'SIGSTOP')
}

/** The request of the switch alone removes the markers of a rebuild. */
const isSwitch = (path: string, body: unknown): boolean =>
  path.endsWith('/_aliases') && /"remove":\{[^}]*-switch-/.test(JSON.stringify(body))

const request = Transport.prototype.request
Transport.prototype.request = function frozenRequest(this: Transport, ...args: unknown[]) {
  const { method, path, body } = args[0] as { readonly method: string; readonly path: string; readonly body?: unknown }
  if (stopBefore === 'switch' && isSwitch(path, body)) process.kill(process.pid, 'SIGSTOP')
  count(`${method} ${path}`)
  return Reflect.apply(request, this, args)
} as typeof request

const sendCommand = Redis.prototype.sendCommand
Redis.prototype.sendCommand = function frozenCommand(this: Redis, ...args: Parameters<typeof sendCommand>) {
  const [{ name, args: values }] = args
  count(`${name} ${values[0]}`)
  if (counted === 0 && name === 'set') counted = 1
  return Reflect.apply(sendCommand, this, args)
} as typeof sendCommand
