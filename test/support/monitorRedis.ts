import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { eventually } from './eventually.ts'

export type RedisMonitor = {
  /** What clients have asked Redis since the monitor began, in its order. What a script asks is no command of a client. */
  commandsSoFar(): Promise<string[]>
  close(): Promise<void>
}

/** Hears of every command that Redis carries out, by MONITOR on a connection that nothing else uses. */
export async function monitorRedis(url: string): Promise<RedisMonitor> {
  const { hostname, port } = new URL(url)
  const [monitor, asking] = [connect(Number(port), hostname), connect(Number(port), hostname)]
  const sockets = [monitor, asking]
  for (const socket of sockets) socket.on('error', () => socket.destroy())
  asking.resume()
  let heard = ''
  monitor.setEncoding('utf8').on('data', (text: string) => {
    heard += text
  })
  const close = async (): Promise<void> => {
    const closed = sockets.filter((socket) => !socket.closed).map((socket) => once(socket, 'close'))
    for (const socket of sockets) socket.destroy()
    await Promise.all(closed)
  }
  monitor.write('MONITOR\r\n')
  try {
    await eventually(() => heard.startsWith('+OK\r\n'))
  } catch (error) {
    await close()
    throw error
  }
  return {
    close,
    commandsSoFar: async () => {
      const end = `end-${randomUUID()}`
      asking.write(`ECHO ${end}\r\n`)
      await eventually(() => heard.includes(end))
      const lines = heard.slice(0, heard.indexOf(end)).split('\r\n').slice(1, -1)
      return lines.filter((line) => !/^\+\S+ \[\d+ lua\] /.test(line))
    },
  }
}
