import type { ServerResponse } from 'node:http'

/** Calls `listener` once nobody waits for the answer any more, at once when that is so already: a client may leave early. */
export function whenClosed(response: ServerResponse, listener: () => void): void {
  if (response.closed) listener()
  else response.once('close', listener)
}
