import { type IncomingMessage, Server } from 'node:http'

/** Notes the names of the headers that code on a request reads, libraries included, in every HTTP server of this process until `stop`. */
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
