import { createServer, type Server } from 'node:net'
import { Kafka, logLevel } from 'kafkajs'
import '../../../../src/core/kafka/client.ts'
import { listenLocally } from '../../../support/localServer.ts'

/** A broker that is frozen: its kernel accepts connections, and nobody answers. */
async function silentBroker(): Promise<{ address: string; closed(): number; server: Server }> {
  let closed = 0
  const server = createServer((socket) => {
    socket.resume()
    socket.on('error', () => undefined)
    socket.on('close', () => {
      closed++
    })
  })
  return { address: `127.0.0.1:${await listenLocally(server)}`, closed: () => closed, server }
}

test('a broker that does not answer is disconnected, and the next one is asked', async () => {
  const brokers = [await silentBroker(), await silentBroker()]
  const kafka = new Kafka({
    brokers: brokers.map(({ address }) => address),
    requestTimeout: 100,
    retry: { retries: 3, initialRetryTime: 10 },
    logLevel: logLevel.NOTHING,
  })
  const admin = kafka.admin()
  await expect(admin.connect()).rejects.toThrow('timed out')
  await admin.disconnect()
  for (const { closed, server } of brokers) {
    expect(closed()).toBeGreaterThan(0)
    server.close()
  }
})
