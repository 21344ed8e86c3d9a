import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import {
  ApiConnectionError,
  ApiError,
  BadRequestError,
  type Batch,
  CursorExpiredError,
  type FollowOptions,
  InvalidAnswerError,
  NotFoundError,
  UnauthorizedError,
} from '../../../clients/typescript/src/index.ts'
import { deleted, existing } from '../../support/changesServer.ts'
import { eventually } from '../../support/eventually.ts'
import { all, changes, json, type Reply, refusal, take, useScriptedApi } from '../../support/scriptedApi.ts'

const api = useScriptedApi()
const follow = (options?: FollowOptions<'summary', undefined>) => api.client().follow('records', options)

/** A copy as the README keeps it: rows with the walk that named them. */
class Copy {
  readonly rows = new Map<string, string>()
  cursor: string | undefined

  apply({ rows, cursor, walk, sweep }: Batch<unknown>): void {
    for (const row of rows) row.deleted ? this.rows.delete(row.id) : this.rows.set(row.id, walk)
    if (sweep) for (const [id, named] of this.rows) if (named !== walk) this.rows.delete(id)
    this.cursor = cursor
  }

  /** Reads so many batches from the stored cursor, as a program does that ends after them. */
  async read(batches: number): Promise<readonly string[]> {
    for (const batch of await take(follow({ cursor: this.cursor }), batches)) this.apply(batch)
    return [...this.rows.keys()].sort()
  }
}

describe('a copy', () => {
  test('gets rows and deletions, batch by batch, each with the cursor to store', async () => {
    api.willAnswer(
      changes([existing('a'), existing('b')], 'one', { hasMore: true }),
      changes([existing('c')], 'two', { 'replica-watermark': '2026-11-28T08:30:00.000Z' }),
      changes([deleted('b')], 'three'),
    )
    const [first, second, third] = await take(follow(), 3)
    expect(first).toMatchObject({ complete: false, startsOver: true, sweep: false, watermark: undefined })
    expect(first?.rows).toEqual([existing('a'), existing('b')])
    expect(second).toMatchObject({ complete: true, startsOver: false, sweep: true, cursor: 'two', walk: first?.walk })
    expect(second?.watermark).toBe('2026-11-28T08:30:00.000Z')
    expect(third).toMatchObject({ complete: true, startsOver: false, sweep: false, cursor: 'three', walk: '' })
    expect(api.cursors()).toEqual(['none', 'one', 'two'])
    const [{ url = '', headers } = {}] = api.asked()
    expect([url, headers?.authorization]).toEqual(['/record-changes?limit=1000', 'Bearer rqp_acct_1'])
  })

  test('that was interrupted continues from its cursor, and removes items that were deleted while the cursor was too old', async () => {
    const copy = new Copy()
    api.willAnswer(changes([existing('a'), existing('b')], 'one'))
    expect(await copy.read(1)).toEqual(['a', 'b'])
    api.willAnswer(refusal(410), changes([existing('b')], 'two', { hasMore: true }))
    expect(await copy.read(1)).toEqual(['a', 'b'])
    expect(api.cursors()).toEqual(['one', 'none'])
    api.willAnswer(changes([existing('c')], 'three'))
    expect(await copy.read(1)).toEqual(['b', 'c'])
    expect([api.cursors(), copy.cursor]).toEqual([['two'], 'three'])
    api.willAnswer(changes([existing('d')], 'four'))
    expect(await copy.read(1)).toEqual(['b', 'c', 'd'])
  })

  test('whose cursor expires during a walk is right after the next walk', async () => {
    const copy = new Copy()
    api.willAnswer(
      changes([existing('a')], 'one', { hasMore: true }),
      refusal(410),
      changes([existing('b')], 'two', { hasMore: true }),
      refusal(410),
      changes([existing('c')], 'three'),
    )
    expect(await copy.read(3)).toEqual(['c'])
    expect(api.cursors()).toEqual(['none', 'one', 'none', 'two', 'none'])
  })

  test('without its cursor is right after a walk from the beginning', async () => {
    const copy = new Copy()
    api.willAnswer(changes([existing('a'), existing('b')], 'one'))
    await copy.read(1)
    copy.cursor = undefined
    api.willAnswer(changes([existing('b')], 'two'))
    expect(await copy.read(1)).toEqual(['b'])
  })
})

test.each([undefined, null, ''])(
  'without a stored cursor, which may be %p, the list comes from the beginning',
  async (cursor) => {
    api.willAnswer(changes([existing('a')], 'one'))
    expect(await take(follow({ cursor }), 1)).toMatchObject([{ startsOver: true, sweep: true }])
    expect(api.cursors()).toEqual(['none'])
  },
)

test('a batch is requested once the previous one was handled', async () => {
  api.willAnswer(changes([existing('a')], 'one', { hasMore: true }), changes([existing('b')], 'two'))
  const batches = follow()
  await batches.next()
  expect(api.cursors()).toEqual(['none'])
  await batches.next()
  expect(api.cursors()).toEqual(['none', 'one'])
  await batches.return()
})

test('view, fields and limit are sent with each request, and `once` ends when the copy is complete', async () => {
  api.willAnswer(changes([existing('a')], 'one', { hasMore: true }), changes([], 'two'))
  const options = { cursor: 'zero', view: 'full', fields: ['title', 'language'], limit: 5, once: true } as const
  const read: string[] = []
  for await (const { cursor } of api.client().follow('forms', options)) read.push(cursor)
  expect(read).toEqual(['one', 'two'])
  expect(api.asked().map(({ url }) => url)).toEqual([
    '/form-changes?limit=5&view=full&fields=title%2Clanguage&cursor=zero',
    '/form-changes?limit=5&view=full&fields=title%2Clanguage&cursor=one',
  ])
})

test('`once` does not end with a sweep, because the sweep may have removed a row that changed during the walk', async () => {
  api.willAnswer(changes([existing('a')], 'one'), changes([existing('b')], 'two'))
  expect(await all(follow({ once: true }))).toMatchObject([{ sweep: true }, { sweep: false, cursor: 'two' }])
  expect(api.pauses()).toEqual([])
})

describe('once the copy is complete', () => {
  const preferences = () => api.asked().map(({ headers }) => headers['prefer'])
  const held = { 'preference-applied': 'wait=30' }

  test('the API may delay its answers, and a list that changes all the time is requested at most once a second', async () => {
    const rows = [existing('a')]
    api.willAnswer(
      changes(rows, '1', { hasMore: true }),
      changes(rows, '2'),
      changes(rows, '3'),
      changes([], '4', held),
      changes([], '5', held),
    )
    await take(follow({ cursor: '0' }), 5)
    expect(preferences()).toEqual([undefined, undefined, ...['wait=30', 'wait=30', 'wait=30']])
    expect(api.pauses()).toEqual([1_000, 1_000, 1_000])
  })

  test('a list that starts anew is read without waiting', async () => {
    api.willAnswer(changes([], '1'), refusal(410), changes([], '2'))
    await take(follow({ cursor: '0' }), 2)
    expect(preferences()).toEqual([undefined, 'wait=30', undefined])
    expect(api.pauses()).toEqual([1_000, 1_000])
  })

  test('an API that answers at once is polled', async () => {
    api.willAnswer(changes([], '1'), changes([], '2'), changes([], '3'))
    await take(follow({ cursor: '0', waitSeconds: 10 }), 3)
    expect(preferences()).toEqual([undefined, 'wait=10', 'wait=10'])
    expect(api.pauses()).toEqual([1_000, 5_000])
  })

  test('an API is polled with `waitSeconds: 0`', async () => {
    api.willAnswer(changes([], '1'), changes([], '2'))
    await take(follow({ cursor: '0', waitSeconds: 0, pollSeconds: 7 }), 2)
    expect(preferences()).toEqual([undefined, undefined])
    expect(api.pauses()).toEqual([7_000])
  })
})

describe('the loop ends', () => {
  const held = Promise.withResolvers<void>()
  const reason = new Error('enough')

  test('when its signal aborts while a request waits at the API; this request is aborted, too', async () => {
    const gone: Promise<unknown>[] = []
    api.willAnswer(changes([], '1'), (response) => {
      gone.push(once(response, 'close'))
      held.resolve()
    })
    const stop = new AbortController()
    const following = take(follow({ cursor: '0', signal: stop.signal }), 2)
    await held.promise
    stop.abort(reason)
    await expect(following).rejects.toBe(reason)
    await Promise.all(gone)
    expect(gone).toHaveLength(1)
  })

  test('when its signal aborts during a pause', async () => {
    api.willAnswer(changes([], '1'))
    const stop = new AbortController()
    const client = api.client({ sleep: undefined })
    const following = take(
      client.follow('records', { cursor: '0', pollSeconds: 600, waitSeconds: 0, signal: stop.signal }),
      2,
    )
    await eventually(() => api.asked().length === 1)
    stop.abort(reason)
    await expect(following).rejects.toBe(reason)
  })

  test('at once if its signal has aborted before', async () => {
    api.willAnswer()
    await expect(take(follow({ signal: AbortSignal.abort(reason) }), 1)).rejects.toBe(reason)
    expect(api.asked()).toEqual([])
  })

  const message = 'cursor must be unchanged, and from an answer to the same team, list, view and fields, not "x"'
  test.each([
    ['a cursor that is refused', refusal(400, { 'x-request-id': 'r1' }, message), BadRequestError],
    ['a key that was revoked', refusal(401), UnauthorizedError],
    ['a proxy that refuses', refusal(403), UnauthorizedError],
    ['a wrong path', json('<h1>404</h1>', {}, 404), NotFoundError],
    [
      'a redirect, which would take the key elsewhere',
      refusal(308, { location: 'https://elsewhere.example/' }),
      ApiError,
    ],
  ])('with %s', async (_what, reply, error) => {
    api.willAnswer(reply)
    await expect(take(follow({ cursor: 'x' }), 1)).rejects.toThrow(error)
    expect(api.asked()).toHaveLength(1)
    expect(api.pauses()).toEqual([])
  })

  test('with an error that names the problem', async () => {
    api.willAnswer(json({ error: { code: 'bad_request', message } }, { 'x-request-id': 'r1' }, 400))
    await expect(take(follow({ cursor: 'x' }), 1)).rejects.toMatchObject({
      ...{ name: 'BadRequestError', status: 400, code: 'bad_request', message, parameter: 'cursor', requestId: 'r1' },
    })
    api.willAnswer(refusal(302, { location: 'https://elsewhere.example/' }))
    await expect(take(follow(), 1)).rejects.toThrow(/redirected to https:..elsewhere.example/)
  })

  test('with a cursor that is too old, if the caller does not want to start anew, or had no cursor', async () => {
    api.willAnswer(refusal(410))
    await expect(take(follow({ cursor: 'x', onExpired: 'throw' }), 1)).rejects.toThrow(CursorExpiredError)
    api.willAnswer(refusal(410))
    await expect(take(follow(), 1)).rejects.toThrow(CursorExpiredError)
  })
})

describe('a request is repeated after', () => {
  const failures = [
    ['no row, but more to come', json({ items: [], cursor: '1', hasMore: true })],
    ['the same cursor, and more to come', json({ items: [existing('a')], cursor: '0', hasMore: true })],
    ['no cursor', json({ items: [existing('a')], hasMore: false })],
    ['an empty cursor', json({ items: [existing('a')], cursor: '', hasMore: false })],
    ['no items', json({ cursor: '1', hasMore: false })],
    ['null for a row', json({ items: [null], cursor: '1', hasMore: false })],
    ['a row without an id', json({ items: [{ deleted: true }], cursor: '1', hasMore: false })],
    ['a row that says not whether it is deleted', json({ items: [{ id: 'a' }], cursor: '1', hasMore: false })],
    ['nothing that says whether there is more', json({ items: [existing('a')], cursor: '1' })],
    ['a list', json([existing('a')])],
    ['null', json(null)],
    ['a page for people', (response: ServerResponse) => response.end('<html>We are back soon</html>')],
    ['nothing', (response: ServerResponse) => response.end()],
    ['status 204', (response: ServerResponse) => response.writeHead(204).end()],
  ] as const

  test.each(failures)('an answer with %s', async (_what, reply) => {
    const retries: unknown[] = []
    const client = api.client({ onRetry: ({ error, failures, pauseMs }) => retries.push([error, failures, pauseMs]) })
    api.willAnswer(reply, reply, changes([existing('b')], '1'))
    const [batch] = await take(client.follow('records', { cursor: '0' }), 1)
    expect(batch).toMatchObject({ rows: [existing('b')], cursor: '1' })
    expect(api.cursors()).toEqual(['0', '0', '0'])
    const [first = 0, second = 0] = api.pauses()
    expect(retries).toEqual([
      [expect.any(InvalidAnswerError), 1, first],
      [expect.any(InvalidAnswerError), 2, second],
    ])
    expect([first >= 500 && first <= 1_000, second >= 1_000 && second <= 2_000]).toEqual([true, true])
  })

  test.each([408, 429, 500, 502, 503, 504])('the status %d', async (status) => {
    api.willAnswer(refusal(status), refusal(status, { 'retry-after': '7' }), changes([existing('a')], '1'))
    expect(await take(follow(), 1)).toMatchObject([{ rows: [existing('a')] }])
    expect(api.pauses()).toEqual([expect.any(Number), 7_000])
  })

  test('the status 503 for as long as it takes, or with `once` for two minutes', async () => {
    const away = Array.from({ length: 40 }, () => refusal(503))
    api.willAnswer(...away, changes([existing('a')], '1'))
    expect(await take(follow(), 1)).toMatchObject([{ rows: [existing('a')] }])
    expect(Math.max(...api.pauses())).toBeLessThanOrEqual(60_000)
    expect(Math.min(...api.pauses().slice(7))).toBeGreaterThanOrEqual(30_000)
    api.willAnswer(...away)
    await expect(take(follow({ once: true }), 1)).rejects.toMatchObject({ status: 503 })
    expect(api.pauses().reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(120_000)
    expect(api.pauses().length).toBeGreaterThan(4)
  })

  test('a refused connection', async () => {
    const errors: unknown[] = []
    const client = api.client({ baseUrl: 'http://127.0.0.1:1', onRetry: ({ error }) => errors.push(error) })
    await expect(take(client.follow('records', { once: true }), 1)).rejects.toThrow(ApiConnectionError)
    expect(errors.every((error) => error instanceof ApiConnectionError)).toBe(true)
  })

  test('an answer that does not arrive', async () => {
    const errors: unknown[] = []
    const client = api.client({ timeoutSeconds: 0.3, onRetry: ({ error }) => errors.push(error) })
    const silent = () => undefined
    const silentMidway: Reply = (response) => response.write('{"items":')
    // On a busy machine, an answer may take so long that it counts as silence, too.
    const answered = Array.from({ length: 50 }, () => changes([existing('a')], '1'))
    api.willAnswer(silent, silentMidway, ...answered)
    expect(await take(client.follow('records'), 1)).toMatchObject([{ rows: [existing('a')] }])
    expect(errors.slice(0, 2)).toEqual([expect.any(ApiConnectionError), expect.any(ApiConnectionError)])
  })
})
