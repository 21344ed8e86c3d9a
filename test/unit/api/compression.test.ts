import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib'
import Koa from 'koa'
import { compressedStream } from '../../../src/api/compression.ts'
import { startLocalServer } from '../../support/localServer.ts'

const partBytes = 512 * 1024
const parts = 64
/** What may be on its way: the buffers of both sockets in the system, and those of the streams. */
const maxAheadBytes = 24 * 1024 * 1024

test.each([
  ['gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
] as const)('what is compressed in %s is taken from its source no faster than read', async (encoding, decompressor) => {
  let takenBytes = 0
  function* source(): Generator<Buffer> {
    for (let part = 0; part < parts; part++) {
      takenBytes += partBytes
      // Cannot be made smaller, so that as many bytes go over the connection.
      yield randomBytes(partBytes)
    }
  }
  const app = new Koa().use((ctx) => {
    ctx.body = compressedStream(Readable.from(source(), { objectMode: false }), encoding)
  })
  const { port, close } = await startLocalServer(app.callback())
  const sent = request({ port, agent: false }).end()
  const [received] = (await once(sent, 'response')) as [IncomingMessage]
  let readBytes = 0
  let aheadBytes = 0
  for await (const chunk of received.pipe(decompressor())) {
    aheadBytes = Math.max(aheadBytes, takenBytes - readBytes)
    readBytes += (chunk as Buffer).length
    // A reader that does something with what it reads.
    await new Promise(setImmediate)
  }
  await close()
  expect(readBytes).toBe(parts * partBytes)
  expect(aheadBytes).toBeLessThan(maxAheadBytes)
})
