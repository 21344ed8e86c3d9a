import { Transport } from '@elastic/transport'

/**
 * Loaded into a rebuild before its own code (`--import`), it freezes the process (SIGSTOP) just before the request that switches the aliases.
 * No timer of the process can run between the freeze and that request.
 */
const request = Transport.prototype.request
Transport.prototype.request = function frozenRequest(this: Transport, ...args: unknown[]) {
  const { path, body } = args[0] as { readonly path: string; readonly body?: unknown }
  // The request of the switch alone removes the markers of a rebuild.
  const isSwitch = path.endsWith('/_aliases') && /"remove":\{[^}]*-switch-/.test(JSON.stringify(body))
  if (isSwitch) process.kill(process.pid, 'SIGSTOP')
  return Reflect.apply(request, this, args)
} as typeof request
