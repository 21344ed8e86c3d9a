import { gzipSync } from 'node:zlib'
import { existing } from '../../support/changesServer.ts'
import { changes, cut, type Reply, take, useScriptedApi } from '../../support/scriptedApi.ts'

const api = useScriptedApi()
const page = Buffer.from(JSON.stringify({ items: [existing('a'), existing('bé😀')], cursor: 'lost', hasMore: true }))
const whole = changes([existing('a')], 'next')

/** Expects that the first answer brings nothing, and that its rows are asked for again. */
async function expectNothingOf(reply: Reply): Promise<void> {
  api.willAnswer(reply, whole)
  expect(await take(api.client().follow('records', { cursor: 'here' }), 1)).toMatchObject([
    { rows: [existing('a')], cursor: 'next' },
  ])
  expect(api.cursors()).toEqual(['here', 'here'])
}

test.each(['reset', 'in order'] as const)(
  'a page that is cut after any byte, and ends %s, yields no row and is requested again',
  async (how) => {
    for (let at = 0; at < page.length; at++) await expectNothingOf(cut(page.subarray(0, at), how))
  },
)

test('a page that is shorter than its Content-Length yields no row and is requested again', async () => {
  await expectNothingOf(cut(page, 'reset', { 'content-length': String(page.length + 1) }))
})

/** Of the last bytes, which are a checksum, most programs miss none. */
const checksumBytes = 16

test('a compressed page that is cut yields no row and is requested again', async () => {
  const compressed = gzipSync(page)
  for (const how of ['reset', 'in order'] as const)
    for (let at = 0; at < compressed.length - checksumBytes; at += 5)
      await expectNothingOf(cut(compressed.subarray(0, at), how, { 'content-encoding': 'gzip' }))
})
