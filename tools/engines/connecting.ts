import { once } from 'node:events'
import { connect } from 'node:net'

export type Address = { host: string; port: number }

const connectDeadlineMs = 5_000

/** Whether a TCP connection to `address` is accepted within 5 s. */
export const accepts = async (address: Address, signal: AbortSignal): Promise<boolean> => {
  const socket = connect(address)
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectDeadlineMs)]) })
    return true
  } catch {
    signal.throwIfAborted()
    return false
  } finally {
    socket.destroy()
  }
}
