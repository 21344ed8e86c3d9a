import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import Koa from 'koa'
import { compressed, compressedStream, compressionFor } from '../../../src/api/compression.ts'
import type { RouteContext } from '../../../src/api/context.ts'
import { startLocalServer } from '../../support/localServer.ts'

const partBytes = 512 * 1024
const parts = 64
/** What may be on its way: the buffers of both sockets in the system, and those of the streams. */
const maxAheadBytes = 24 * 1024 * 1024

test.each([
  ['gzip', zlib.createGunzip],
  ['deflate', zlib.createInflate],
  ['br', zlib.createBrotliDecompress],
  ['zstd', zlib.createZstdDecompress],
] as const)(
  'a stream compressed in %s reads its source no faster than its client reads',
  async (encoding, decompressor) => {
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
  },
)

const wholes = {
  ...{ zstd: zlib.zstdDecompressSync, br: zlib.brotliDecompressSync },
  ...{ gzip: zlib.gunzipSync, deflate: zlib.inflateSync },
} as const

test.each(['zstd', 'br', 'gzip', 'deflate'] as const)(
  'an answer of a kilobyte and more is compressed in %s',
  async (encoding) => {
    const [short, long] = [1_023, 1_024].map((bytes) => Buffer.alloc(bytes, 'answer '))
    if (short === undefined || long === undefined) throw new Error('an answer is missing')
    expect(await compressed(short, encoding)).toEqual({ body: short, compression: undefined })
    expect(await compressed(long, undefined)).toEqual({ body: long, compression: undefined })
    const { body, compression } = await compressed(long, encoding)
    expect(compression).toBe(encoding)
    expect(body.length).toBeLessThan(long.length)
    expect(wholes[encoding](body)).toEqual(long)
  },
)

test.each([
  ['', undefined],
  ['*', 'gzip'],
  ['identity', undefined],
  ['gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, deflate, br', 'br'],
  ['deflate, gzip', 'gzip'],
  ['br;q=0.5, gzip', 'gzip'],
  ['gzip;q=0, *', 'zstd'],
  ['identity, gzip;q=0.5', undefined],
  ['compress, x-unknown', undefined],
  ['*;q=0', undefined],
])('a client that accepts %j gets %s', (accepted, compression) => {
  const get = (name: string): string => (name === 'Accept-Encoding' ? accepted : '')
  expect(compressionFor({ get } as unknown as RouteContext)).toBe(compression)
})
