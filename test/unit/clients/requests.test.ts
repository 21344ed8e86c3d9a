import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ApiConnectionError,
  IgnoredParameterError,
  InvalidAnswerError,
  NotFoundError,
  RateLimitedError,
  Tidemark,
} from '../../../clients/typescript/src/index.ts'
import { specifiersOf } from '../../support/imports.ts'
import { all, json, type Reply, refusal, take, useScriptedApi } from '../../support/scriptedApi.ts'

const api = useScriptedApi()
const urls = () => api.asked().map(({ url }) => url)
const page = (items: readonly object[], totalDocs: number) => json({ totalDocs, page: 1, limit: 2, items })

describe('a request', () => {
  test('sends its parameters as the API reads them', async () => {
    const client = api.client()
    api.willAnswer(page([], 0), page([], 0), json({ id: 'a/b' }), json({ id: 'f' }), json({ items: [] }))
    await client.records.list({
      formId: undefined,
      answers: { q1: ['a', 'b&c'], 'q:2': '' },
      fields: ['id', 'data.q1'],
    })
    await client.forms.list({ titleContains: '', limit: 5, page: 2 })
    await client.records.get('a/b')
    await client.forms.get('f', { includeFields: false, fields: ['title'] })
    await client.counts({ by: 'day,level', timeZone: 'Europe/Berlin', scores: true })
    expect(urls().map((url) => decodeURIComponent(url))).toEqual([
      '/records?answers={"q1":["a","b&c"],"q:2":""}&fields=id,data.q1',
      '/forms?titleContains=&limit=5&page=2',
      '/records/a/b',
      '/forms/f?includeFields=false&fields=title',
      '/record-counts?by=day,level&timeZone=Europe/Berlin&scores=true',
    ])
    expect(urls()[2]).toBe('/records/a%2Fb')
  })

  test('goes below the URL of the API, with or without a slash at its end, and with a key that ends in a line break', async () => {
    for (const baseUrl of [`${api.url}/below/api/v1`, `${api.url}/below/api/v1/`]) {
      api.willAnswer(json({ id: 'f' }))
      await api.client({ baseUrl, accountKey: 'rqp_acct_2\n' }).forms.get('f')
      expect(urls()).toEqual(['/below/api/v1/forms/f'])
      expect(api.asked()[0]?.headers.authorization).toBe('Bearer rqp_acct_2')
    }
  })

  test('with a malformed URL or key is an error at once', () => {
    for (const baseUrl of [
      '',
      'quiz.example',
      '/api/v1',
      'ftp://quiz.example',
      'https://a:b@quiz.example',
      'https://quiz.example?x',
    ])
      expect(() => new Tidemark({ baseUrl, accountKey: 'k' })).toThrow(expect.objectContaining({ name: 'TypeError' }))
    for (const accountKey of ['', ' ', 'a\nb', 'é😀'])
      expect(() => new Tidemark({ baseUrl: 'https://quiz.example', accountKey })).toThrow(
        expect.objectContaining({ name: 'TypeError' }),
      )
  })

  test('is repeated for two minutes, and then throws the error of the last answer', async () => {
    api.willAnswer(refusal(503), json('<html>'), json({ id: 'f' }))
    await expect(api.client().forms.get('f')).resolves.toEqual({ id: 'f' })
    api.willAnswer(refusal(503), refusal(429, { 'retry-after': '120' }))
    await expect(api.client().forms.get('f')).rejects.toThrow(RateLimitedError)
    api.willAnswer(refusal(503))
    await expect(api.client({ retrySeconds: 0 }).forms.get('f')).rejects.toMatchObject({ status: 503 })
    api.willAnswer(refusal(404, {}, 'no such form'))
    await expect(api.client().forms.get('f')).rejects.toThrow(NotFoundError)
    expect(urls()).toHaveLength(1)
  })

  test('whose parameter the API ignores is an error, because its answer would not be restricted', async () => {
    api.willAnswer(json({ items: [] }, { 'ignored-parameters': 'formID' }))
    await expect(api.client().records.list()).rejects.toThrow(IgnoredParameterError)
    expect(urls()).toHaveLength(1)
  })

  test('ends when its signal aborts', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    api.willAnswer(() => stop.abort(reason))
    await expect(api.client().records.get('a', {}, { signal: stop.signal })).rejects.toBe(reason)
  })
})

test('all pages are read one after the other, up to the last one with items', async () => {
  api.willAnswer(page([{ id: 'a' }, { id: 'b' }], 3), page([{ id: 'c' }], 3))
  expect(await all(api.client().forms.iterate({ limit: 2, scene: 'scored_quiz' }))).toEqual([
    { id: 'a' },
    { id: 'b' },
    { id: 'c' },
  ])
  expect(urls()).toEqual(['/forms?limit=2&scene=scored_quiz&page=1', '/forms?limit=2&scene=scored_quiz&page=2'])
  api.willAnswer(page([{ id: 'a' }], 200), page([], 200))
  expect(await all(api.client().records.iterate())).toEqual([{ id: 'a' }])
  expect(urls()).toEqual(['/records?limit=100&page=1', '/records?limit=100&page=2'])
})

describe('an export', () => {
  const rows = [{ id: 'a', title: 'é😀' }, { id: 'b', title: '\u2028' }, { id: 'c' }]
  const lines = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const headers = {
    'content-type': 'application/x-ndjson',
    'changes-cursor': 'next',
    'replica-watermark': '2026-11-28T08:30:00.000Z',
  }
  const exported =
    (...pieces: readonly Buffer[]): Reply =>
    async (response) => {
      response.writeHead(200, headers)
      for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve))
      response.end()
    }

  test('yields its rows, wherever the network divides them, and then has the cursor of the change feed', async () => {
    for (let at = 1; at < lines.length; at += 3) {
      api.willAnswer(exported(lines.subarray(0, at), lines.subarray(at)))
      const forms = api.client().forms.export({ view: 'full', fields: ['id', 'title'] })
      expect(() => forms.cursor).toThrow(/not read to its end/)
      expect(await all(forms)).toEqual(rows)
      expect([forms.cursor, forms.watermark]).toEqual(['next', '2026-11-28T08:30:00.000Z'])
    }
    expect(urls()).toEqual(['/forms?view=full&fields=id%2Ctitle'])
    expect(api.asked()[0]?.headers.accept).toBe('application/x-ndjson')
  })

  test('may have no rows and no cursor', async () => {
    api.willAnswer((response) => response.end())
    const forms = api.client().forms.export()
    expect(await all(forms)).toEqual([])
    expect([forms.cursor, forms.watermark]).toEqual([undefined, undefined])
  })

  test.each([
    [
      'breaks off',
      (response: Parameters<Reply>[0]) => response.writeHead(200, headers).write(lines, () => response.destroy()),
      ApiConnectionError,
    ],
    ['ends within a line', exported(lines.subarray(0, -1)), InvalidAnswerError],
    ['has a line that is no JSON', exported(lines, Buffer.from('<html>\n')), InvalidAnswerError],
  ] as const)('that %s throws, and has no cursor', async (_what, reply, error) => {
    api.willAnswer(reply as Reply)
    const forms = api.client().forms.export()
    await expect(all(forms)).rejects.toThrow(error)
    expect(() => forms.cursor).toThrow(/not read to its end/)
  })

  test('is requested again while the API refuses it, and closed when its reader stops early', async () => {
    const closed: Promise<unknown>[] = []
    api.willAnswer(refusal(503, { 'retry-after': '3' }), (response) => {
      closed.push(once(response, 'close'))
      response.writeHead(200, headers).write(lines)
    })
    expect(await take(api.client().forms.export(), 1)).toEqual([rows[0]])
    expect(api.pauses()).toEqual([3_000])
    await Promise.all(closed)
  })
})

test('the package runs in Node, Deno and browsers, because its files import only each other', () => {
  const folder = 'clients/typescript/src'
  const specifiers = readdirSync(folder).flatMap((file) => specifiersOf(join(folder, file)))
  expect(specifiers.length).toBeGreaterThan(20)
  expect(specifiers.filter((specifier) => !/^\.\/\w+\.ts$/.test(specifier))).toEqual([])
})
