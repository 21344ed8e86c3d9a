import { Transport } from '@elastic/transport'
import { Redis } from 'ioredis'

/**
 * Loaded into a rebuild before its own code (`--import`), it freezes the process (SIGSTOP) just before the request that `STOP_BEFORE` counts,
 * beginning with 1 at the first one after the rebuild has taken hold of the watermark. No timer of the process can run between the freeze and
 * that request.
 */
const stopBefore = Number(process.env['STOP_BEFORE'])
let counted = 0

function count(): void {
  if (counted > 0 && ++counted === stopBefore + 1) process.kill(process.pid, 'SIGSTOP')
}

const request = Transport.prototype.request
Transport.prototype.request = function frozenRequest(this: Transport, ...args: unknown[]) {
  count()
  return Reflect.apply(request, this, args)
} as typeof request

const sendCommand = Redis.prototype.sendCommand
Redis.prototype.sendCommand = function frozenCommand(this: Redis, ...args: Parameters<typeof sendCommand>) {
  count()
  if (counted === 0 && args[0].name === 'set') counted = 1
  return Reflect.apply(sendCommand, this, args)
} as typeof sendCommand
