import { randomUUID } from 'node:crypto'
import type { EntityType } from '../../src/core/model/ids.ts'
import { newCursorKey } from '../../src/core/redis/visiblePositions.ts'
import { type TestAnswer, useApi } from '../support/api.ts'
import { askChanges, type ChangePage, namesOf, rowsOf, walkChanges } from '../support/changeFeed.ts'
import { formEntity, opaque, submissionEntity } from '../support/entities.ts'
import { passes } from '../support/faultyElasticsearch.ts'

const [team, otherTeam] = ['team-1', 'team-2']
const [changedAt, later] = ['2026-11-28T08:30:00.000Z', '2026-11-28T08:30:00.001Z']
const lists = ['forms/team-1', 'submissions/team-1', 'forms/team-2', 'submissions/team-2'] as const

const api = useApi({ teams: [team, otherTeam], watermark: changedAt, hasFaultyElasticsearch: true })

const feeds: Readonly<Record<EntityType, { readonly feed: string; readonly list: string }>> = {
  forms: { feed: '/api/v1/form-changes', list: '/api/v1/forms' },
  submissions: { feed: '/api/v1/record-changes', list: '/api/v1/records' },
}
const { feed } = feeds.submissions

const ask = (target: string): Promise<TestAnswer> => api.get(target)
const walk = (path: string, cursor?: string): Promise<readonly ChangePage[]> => walkChanges(ask, path, cursor)
const endOf = (pages: readonly ChangePage[]): string => pages.at(-1)?.cursor ?? ''

type Stored = {
  readonly id: string
  readonly entity?: object | null
  readonly revision?: number
  readonly partition?: number
  readonly of?: string
}

/** What an indexer makes searchable of one type, by default submissions. */
async function store(records: readonly Stored[], type: EntityType = 'submissions'): Promise<void> {
  const make = type === 'forms' ? formEntity : submissionEntity
  const stored = records.map(({ id, entity = {}, revision = 1, partition = 0, of = team }) => {
    const record = { team: of, id, revision, partition, appendedAt: changedAt }
    return { ...record, entity: entity === null ? null : make({ ...entity, id }) }
  })
  if (type === 'forms') await api.replica.storeForms(...stored)
  else await api.replica.storeSubmissions(...stored)
}

const publish = (): Promise<unknown> => api.replica.publishPositions(later, { lists })

/** What an indexer makes visible: stores records, and publishes their positions. */
async function show(records: readonly Stored[], type: EntityType = 'submissions'): Promise<void> {
  await store(records, type)
  await publish()
}

/** Ids that no other test has used. */
const newIds = (count: number): readonly string[] => {
  const test = randomUUID().slice(0, 8)
  return Array.from({ length: count }, (_, at) => `${test}-${at}`)
}

describe.each(['forms', 'submissions'] as const)('the feed of %s', (type) => {
  const path = feeds[type]

  test('has every item from the beginning, as the list serves it, with changedAt', async () => {
    const [kept = '', deleted = ''] = newIds(2)
    const member = type === 'forms' ? 'localization' : 'data'
    await show([{ id: kept, entity: { [member]: JSON.parse(opaque) } }, { id: deleted }], type)
    await show([{ id: deleted, entity: null }], type)
    const rows = rowsOf(await walk(path.feed))
    expect(namesOf(rows)).toContain(kept)
    expect(rows.filter(({ id }) => id === deleted)).toEqual([])
    const row = rows.find(({ id }) => id === kept)
    const { json } = await ask(`${path.list}?limit=100`)
    const item = (json as { items: { id: string }[] }).items.find(({ id }) => id === kept)
    expect(row).toEqual({ ...item, changedAt, deleted: false })
  })

  test('has after a walk only new, changed and deleted items', async () => {
    const [same = '', changed = '', deleted = '', added = ''] = newIds(4)
    await show([{ id: same }, { id: changed }, { id: deleted }], type)
    const cursor = endOf(await walk(path.feed))
    await show([{ id: changed, revision: 2 }, { id: deleted, entity: null }, { id: added }], type)
    const pages = await walk(path.feed, cursor)
    expect(namesOf(rowsOf(pages))).toEqual([changed, `-${deleted}`, added])
    expect(rowsOf(pages)[1]).toEqual({ id: deleted, changedAt, deleted: true })
    expect(namesOf(rowsOf(await walk(path.feed, endOf(pages))))).toEqual([])
  })
})

describe.each(['forms', 'submissions'] as const)('with view=full, the feed of %s', (type) => {
  const path = feeds[type]

  test('has each item as its own endpoint serves it, and deletions', async () => {
    const [kept = '', deleted = ''] = newIds(2)
    const cursor = endOf(await walk(`${path.feed}?view=full`))
    await show([{ id: kept }, { id: deleted, entity: null }], type)
    const rows = rowsOf(await walk(`${path.feed}?view=full`, cursor))
    const { json } = await ask(`${path.list}/${kept}`)
    const gone = { id: deleted, changedAt, deleted: true }
    expect(rows).toEqual([{ ...(json as object), changedAt, deleted: false }, gone])
  })
})

test('an item that is deleted while the API reads its details is left out; its deletion comes in the next walk', async () => {
  const [first = '', deleted = ''] = newIds(2)
  const path = `${feed}?view=full`
  const cursor = endOf(await walk(path))
  await show([{ id: first }, { id: deleted }])
  const fault = api.elasticsearch.inject(
    '_mget',
    async (exchange) => {
      await show([{ id: deleted, entity: null }])
      exchange.reply(await exchange.ask())
    },
    { times: 1 },
  )
  const pages = await walk(path, cursor)
  expect([namesOf(rowsOf(pages)), fault.met()]).toEqual([[first], 1])
  expect(namesOf(rowsOf(await walk(path, endOf(pages))))).toEqual([`-${deleted}`])
})

test('a page whose only item was deleted meanwhile has the next item instead', async () => {
  const [deleted = '', next = ''] = newIds(2)
  const path = `${feed}?view=full&limit=1`
  const cursor = endOf(await walk(path))
  await show([{ id: deleted }, { id: next }])
  api.elasticsearch.inject(
    '_mget',
    async (exchange) => {
      await show([{ id: deleted, entity: null }])
      exchange.reply(await exchange.ask())
    },
    { times: 1 },
  )
  expect(namesOf((await askChanges(ask, path, cursor)).items)).toEqual([next])
})

test('`fields` selects members; every row has id, changedAt and deleted as well', async () => {
  const [id = ''] = newIds(1)
  const queries = ['fields=result.score', 'fields=id,deleted,result.score,changedAt']
  const cursors = await Promise.all(queries.map(async (query) => endOf(await walk(`${feed}?${query}`))))
  await show([{ id }])
  for (const [at, query] of queries.entries())
    expect(rowsOf(await walk(`${feed}?${query}`, cursors[at]))).toEqual([
      { id, changedAt, deleted: false, result: { score: 80 } },
    ])
})

test('members of rows are served byte for byte', async () => {
  const [id = ''] = newIds(1)
  const cursor = endOf(await walk(feed))
  const entity = JSON.stringify(submissionEntity({ id })).replace('"data":{', `"data":{"opaque":${opaque},`)
  await api.replica.storeSubmissions({ team, id, entity, appendedAt: changedAt })
  await api.replica.publishPositions(later, { lists })
  expect((await ask(`${feed}?cursor=${cursor}`)).text).toContain(opaque)
})

test('`cursor=latest` returns no rows, and a cursor from which only later changes come', async () => {
  const [before = '', after = ''] = newIds(2)
  await show([{ id: before }])
  const now = await askChanges(ask, feed, 'latest')
  expect(now).toEqual({ items: [], cursor: expect.any(String), hasMore: false })
  await show([{ id: after }])
  expect(namesOf(rowsOf(await walk(feed, now.cursor)))).toEqual([after])
})

test('a walk in small pages has the same rows as one large page, also when it is resumed from an earlier cursor', async () => {
  const ids = newIds(7)
  await show(ids.map((id, at) => ({ id, partition: at % 2 })))
  const whole = namesOf(rowsOf(await walk(`${feed}?limit=1000`)))
  const pages = await walk(`${feed}?limit=3`)
  expect(namesOf(rowsOf(pages))).toEqual(whole)
  expect(pages.every(({ items, hasMore }) => items.length <= 3 && (items.length > 0 || !hasMore))).toBe(true)
  for (const [at, { cursor, hasMore }] of pages.entries())
    if (hasMore)
      expect(await walk(`${feed}?limit=3`, cursor)).toMatchObject(pages.slice(at + 1).map(({ items }) => ({ items })))
})

test('an item that changes during a walk comes in the next walk instead', async () => {
  const [first = '', second = '', third = ''] = newIds(3)
  const cursor = endOf(await walk(feed))
  await show([{ id: first }, { id: second }, { id: third }])
  const page = await askChanges(ask, `${feed}?limit=1`, cursor)
  expect(namesOf(page.items)).toEqual([first])
  await show([
    { id: second, revision: 2 },
    { id: third, entity: null },
  ])
  const rest = await walk(`${feed}?limit=1`, page.cursor)
  expect(rest).toEqual([{ items: [], cursor: expect.any(String), hasMore: false }])
  expect(namesOf(rowsOf(await walk(feed, endOf(rest))))).toEqual([second, `-${third}`])
})

test('a change that becomes visible during a walk, in a partition that the walk has finished, comes in the next walk', async () => {
  const [first = '', second = '', third = ''] = newIds(3)
  const cursor = endOf(await walk(feed))
  await show([
    { id: first, partition: 1 },
    { id: second, partition: 1 },
  ])
  const page = await askChanges(ask, `${feed}?limit=1`, cursor)
  await show([{ id: third, partition: 0 }])
  const rest = await walk(feed, page.cursor)
  expect(namesOf(rowsOf(rest))).toEqual([second])
  expect(namesOf(rowsOf(await walk(feed, endOf(rest))))).toEqual([third])
})

test('a partition that was added later is read from its beginning', async () => {
  const cursor = endOf(await walk(feed))
  const [old = '', added = ''] = newIds(2)
  await show([
    { id: old, partition: 1 },
    { id: added, partition: 2 },
  ])
  expect(namesOf(rowsOf(await walk(feed, cursor)))).toEqual([old, added])
})

test('a first walk has rows that lists show before their position is visible, and the next walk has them again', async () => {
  const [same = '', changed = '', added = '', inOtherPartition = ''] = newIds(4)
  await show([{ id: same }, { id: changed }])
  await store([{ id: changed, revision: 2 }, { id: added }, { id: inOtherPartition, partition: 1 }])
  const pages = await walk(`${feed}?limit=2`)
  const names = namesOf(rowsOf(pages)).filter((name) => [same, changed, added, inOtherPartition].includes(name))
  expect(names.toSorted()).toEqual([same, changed, added, inOtherPartition].toSorted())
  await publish()
  expect(namesOf(rowsOf(await walk(feed, endOf(pages))))).toEqual([changed, added, inOtherPartition])
})

test('a team sees no rows of other teams, and cannot use their cursors', async () => {
  const [own = '', foreign = ''] = newIds(2)
  const key = api.keyOf(otherTeam)
  const cursor = endOf(await walk(feed))
  const theirs = endOf(await walkChanges((target) => api.get(target, { key }), feed))
  await show([{ id: own }, { id: foreign, of: otherTeam }])
  expect(namesOf(rowsOf(await walk(feed, cursor)))).toEqual([own])
  const refused = await api.get(`${feed}?cursor=${theirs}`)
  expect([refused.status, refused.json]).toEqual([
    400,
    { error: { code: 'bad_request', message: expect.stringMatching(/^cursor /) } },
  ])
})

test('while nothing has changed, the feed answers without Elasticsearch', async () => {
  const cursor = endOf(await walk(feed))
  const another = await api.startAnother()
  const asked = api.elasticsearch.inject('', passes)
  const { text } = await ask(`${feed}?cursor=${cursor}`)
  expect(text).toBe(`{"items":[],"cursor":"${cursor}","hasMore":false}`)
  expect((await another.send(`${feed}?cursor=${cursor}`, { key: api.key })).status).toBe(200)
  expect(asked.met()).toBe(0)
})

test('an answer has the headers of other endpoints, but no ETag and no Link', async () => {
  const { headers, status } = await api.get(`${feed}?page=2&Limit=3`, { headers: { 'if-none-match': '*' } })
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'private, no-cache',
    'ignored-parameters': 'page, Limit',
    'replica-watermark': later,
    ratelimit: expect.any(String),
  })
  expect(headers).not.toHaveProperty('etag')
  expect(headers).not.toHaveProperty('link')
  const head = await api.get(feed, { method: 'HEAD' })
  expect([head.status, head.text]).toEqual([200, ''])
  const { received } = await api.open(`${feed}?limit=1000`, { 'accept-encoding': 'gzip' })
  expect(received.headers['content-encoding']).toBe('gzip')
  for await (const _ of received);
})

describe('a request is refused', () => {
  const tooLong = `cursor=${'A'.repeat(4_097)}`

  const refusal = async (query: string): Promise<unknown> => {
    const { status, json } = await ask(`${feed}?${query}`)
    return [status, (json as { error: { message: string } }).error.message.split(' ')[0]]
  }

  test.each(['limit=0', 'limit=1001', 'limit=x', 'view=all', 'fields=none', 'cursor=', 'cursor=x', tooLong])(
    'with %.20s',
    async (query) => expect(await refusal(query)).toEqual([400, query.split('=')[0]]),
  )

  test('with a cursor of another list, view or selection of fields, or with a changed cursor', async () => {
    const ofForms = endOf(await walk(feeds.forms.feed))
    const cursor = endOf(await walk(feed))
    const changed = cursor.slice(0, -2) + (cursor.endsWith('AA') ? 'BA' : 'AA')
    for (const query of [
      `cursor=${ofForms}`,
      `cursor=${cursor}&view=full`,
      `cursor=${cursor}&fields=id`,
      `cursor=${changed}`,
      `cursor=${cursor.slice(1)}`,
    ])
      expect(await refusal(query)).toEqual([400, 'cursor'])
  })

  test('without a key', async () => expect((await api.send(feed)).status).toBe(401))

  test('with a cursor of an earlier generation, after which deletions may be missing', async () => {
    const cursor = endOf(await walk(feed))
    const [id = ''] = newIds(1)
    const another = await api.startAnother()
    await api.replica.storeSubmissions({ team, id, entity: submissionEntity({ id }) })
    await api.replica.publishPositions(later, { lists, cursorKey: newCursorKey() })
    for (const { send } of [api, another]) {
      const { status, json } = await send(`${feed}?cursor=${cursor}`, { key: api.key })
      expect([status, json]).toMatchObject([410, { error: { code: 'cursor_expired' } }])
    }
    await api.replica.publishPositions(later, { lists })
  })
})

describe('the feed answers 503', () => {
  const expectUnavailable = async (...cursors: readonly (string | undefined)[]): Promise<void> => {
    for (const cursor of cursors) {
      const answer = await ask(cursor === undefined ? feed : `${feed}?cursor=${cursor}`)
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5'])
      expect(answer.json).toMatchObject({ error: { code: 'service_unavailable' } })
    }
  }

  /** A cursor in the middle of a walk, and one at the end of another. */
  async function cursors() {
    const done = endOf(await walk(feed))
    await show(newIds(2).map((id) => ({ id, partition: 1 })))
    const { cursor: open } = await askChanges(ask, `${feed}?limit=1`, done)
    return { done, open }
  }

  const positionOf = (): number => api.replica.positions('submissions')[1] ?? 0

  test('while the position of a partition is unknown', async () => {
    const { done, open } = await cursors()
    const position = positionOf()
    await api.replica.setPosition('submissions', 1, null)
    await expectUnavailable(undefined, 'latest', done, open)
    await api.replica.setPosition('submissions', 1, position)
  })

  test('in a walk whose target is above the visible positions; a new walk goes on', async () => {
    const { done, open } = await cursors()
    const position = positionOf()
    await api.replica.setPosition('submissions', 1, position - 1)
    await expectUnavailable(open)
    const cursor = endOf(await walk(feed, done))
    await api.replica.setPosition('submissions', 1, position)
    expect(rowsOf(await walk(feed, open))).toHaveLength(1)
    const [id = ''] = newIds(1)
    await show([{ id }])
    expect(namesOf(rowsOf(await walk(feed, cursor)))).toContain(id)
  })

  test('once deletions may be missing', async () => {
    const { done, open } = await cursors()
    await api.replica.publishPositions(later, { lists, mayLackDeletions: true })
    await expectUnavailable(undefined, 'latest', done, open)
  })
})
