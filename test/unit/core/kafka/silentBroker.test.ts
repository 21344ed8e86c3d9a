import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { Kafka, logLevel } from 'kafkajs'
import { type Config, readConfig } from '../../../../src/core/config/config.ts'
import { kafkaProbe } from '../../../../src/core/kafka/client.ts'
import { listenLocally } from '../../../support/localServer.ts'

/** A broker that is frozen: its kernel accepts connections, and nobody answers. */
async function silentBroker() {
  let closed = 0
  const server = createServer((socket) => {
    socket.resume()
    socket.on('error', () => undefined)
    socket.on('close', () => closed++)
  })
  return { address: `127.0.0.1:${await listenLocally(server)}`, closed: () => closed, server }
}

test('a broker that does not answer is disconnected, and the next broker is tried', async () => {
  const brokers = [await silentBroker(), await silentBroker()]
  const addresses = brokers.map(({ address }) => address)
  const patience = { requestTimeout: 100, retry: { retries: 3, initialRetryTime: 10 } }
  const admin = new Kafka({ brokers: addresses, ...patience, logLevel: logLevel.NOTHING }).admin()
  await expect(admin.connect()).rejects.toThrow('timed out')
  await admin.disconnect()
  for (const { closed, server } of brokers) {
    expect(closed()).toBeGreaterThan(0)
    server.close()
  }
})

/** What a broker answers to the request that asks for its versions: it has none. */
function noVersions(request: Buffer): Buffer {
  const answer = Buffer.alloc(18)
  answer.writeInt32BE(14)
  request.copy(answer, 4, 8, 12)
  return answer
}

test('an aborted check leaves no connection open that would keep the command running', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (sockets.push(socket) > 1) socket.on('data', (request) => socket.write(noVersions(request)))
    else socket.once('data', () => patience.abort(new Error('given up')))
    server.emit('accepted')
  })
  const patience = new AbortController()
  const read = readConfig({ KAFKA_BROKERS: `127.0.0.1:${await listenLocally(server)}` }, [])
  const probe = kafkaProbe((read as { config: Config }).config)
  await expect(probe.tryCredentials(patience.signal)).rejects.toThrow('given up')
  sockets[0]?.destroy()
  await once(server, 'accepted')
  await once(sockets[1] as Socket, 'close')
  server.close()
})
