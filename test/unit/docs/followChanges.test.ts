import { followChanges, readChanges } from '../../../docs/client/followChanges.ts'
import { useStarted } from '../../support/late.ts'
import { startLocalServer } from '../../support/localServer.ts'

type Answer = {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: object
  readonly isCut?: true
}

let answers: Answer[] = []
const asked: string[] = []
const server = useStarted('the API', () =>
  startLocalServer(({ url = '' }, response) => {
    asked.push(new URL(url, 'http://api').searchParams.get('cursor') ?? 'none')
    const { status = 200, headers = {}, body = {}, isCut } = answers.shift() ?? page([], 'end')
    response.writeHead(status, headers)
    if (isCut) response.write(JSON.stringify(body).slice(0, -9), () => response.destroy())
    else response.end(JSON.stringify(body))
  }),
)
const page = (items: readonly object[], cursor: string, hasMore = false): Answer => ({
  body: { items, cursor, hasMore },
})
const item = (id: string, deleted = false) => ({ id, changedAt: '2026-11-28T08:30:00.000Z', deleted })

/** What a follower of these answers does, until it has read the cursor `until`. */
async function followed(given: readonly Answer[], until: string): Promise<readonly string[]> {
  answers = [...given]
  asked.length = 0
  const done: string[] = []
  const stop = new AbortController()
  await followChanges({ baseUrl: server.url, accountKey: 'rqp_acct_1', list: 'records' }, undefined, {
    onItem: ({ id }) => done.push(id),
    onDeleted: (id) => done.push(`-${id}`),
    onExpired: () => done.push('expired'),
    keep: ({ cursor, isWhole }) => {
      done.push(`${cursor}${isWhole ? ' whole' : ''}`)
      if (cursor === until) stop.abort()
    },
    pollMs: 1,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]),
  })
  return done
}

test('rows and deletions are handed over page by page, each with the cursor to store', async () => {
  const given = [page([item('a'), item('b')], 'one', true), page([item('c')], 'two'), page([item('b', true)], 'three')]
  expect(await followed(given, 'three')).toEqual(['a', 'b', 'one', 'c', 'two whole', '-b', 'three whole'])
  expect(asked).toEqual(['none', 'one', 'two'])
})

test('after an expired cursor the list comes anew', async () => {
  const given = [page([item('a')], 'one'), { status: 410 }, page([item('b')], 'two')]
  expect(await followed(given, 'two')).toEqual(['a', 'one whole', 'expired', 'b', 'two whole'])
  expect(asked).toEqual(['none', 'one', 'none'])
})

test.each([
  ['a refusal that names seconds', { status: 503, headers: { 'retry-after': '1' } }],
  [
    'a refusal that names a date',
    { status: 429, headers: { 'retry-after': new Date(Date.now() + 12_000).toUTCString() } },
  ],
])('%s is waited out, and nothing is lost', async (_what, refusal) => {
  expect(await followed([refusal, page([item('a')], 'one')], 'one')).toEqual(['a', 'one whole'])
})

test('an answer that is cut hands over nothing, and leads nowhere', async () => {
  answers = [{ ...page([item('a')], 'one'), isCut: true }]
  const done: string[] = []
  const handlers = { onItem: ({ id }: { id: string }) => done.push(id), onDeleted: () => undefined }
  const source = { baseUrl: server.url, accountKey: 'rqp_acct_1', list: 'records' } as const
  await expect(readChanges(source, undefined, handlers, AbortSignal.timeout(10_000))).rejects.toThrow('no answer')
  expect(done).toEqual([])
})
