import { type IncomingMessage, Server } from 'node:http'

/** Records the names of request headers read by any code, libraries included, in all HTTP servers of this process until `stop`. */
export function recordHeaderReads(): { readonly names: Set<string>; stop(): void } {
  const names = new Set<string>()
  const { emit } = Server.prototype
  Server.prototype.emit = function (this: Server, event: string, ...values: unknown[]) {
    if (event === 'request') watch(values[0] as IncomingMessage, names)
    return emit.apply(this, [event, ...values] as Parameters<typeof emit>)
  }
  return {
    names,
    stop: () => {
      Server.prototype.emit = emit
    },
  }
}

function watch(request: IncomingMessage, names: Set<string>): void {
  for (const member of ['headers', 'headersDistinct'] as const)
    Object.defineProperty(request, member, { configurable: true, value: noting(request[member], names) })
}

const noting = <Headers extends object>(headers: Headers, names: Set<string>): Headers =>
  new Proxy(headers, {
    get: (target, name) => {
      if (typeof name === 'string') names.add(name)
      return Reflect.get(target, name) as unknown
    },
  })
