import { useApi } from '../support/api.ts'
import { pageIn } from '../support/changeFeed.ts'
import { submissionEntity } from '../support/entities.ts'
import { seeded } from '../support/random.ts'

const [team, other] = ['team-1', 'team-2']
const instant = '2026-11-28T08:30:00.000Z'
const api = useApi({
  teams: [team, other],
  submissions: [team, other].flatMap((each) =>
    ['a', 'b', 'c'].map((id) => ({
      team: each,
      id: `${each}-${id}`,
      entity: submissionEntity({ id: `${each}-${id}` }),
    })),
  ),
  watermark: instant,
})
const feed = '/api/v1/record-changes'

test('a cursor that was cut, lengthened or changed in any byte gets 400, 410 or 503, never rows', async () => {
  const first = pageIn(await api.get(`${feed}?limit=1`))
  const open = Buffer.from(first.cursor, 'base64url')
  const closed = Buffer.from(pageIn(await api.get(feed)).cursor, 'base64url')
  const random = seeded(61)
  const statuses = new Map<number, number>()
  const ask = async (cursor: string): Promise<void> => {
    const { status } = await api.get(`${feed}?cursor=${encodeURIComponent(cursor)}`)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 200) throw new Error(`taken: ${cursor}`)
  }
  for (const bytes of [open, closed]) {
    for (let at = 0; at < bytes.length; at++)
      for (const change of [1, 128, 1 + random.below(255)]) {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ change
        await ask(changed.toString('base64url'))
      }
    for (let length = 1; length < bytes.length; length++) await ask(bytes.toString('base64url', 0, length))
    for (let more = 1; more < 40; more++)
      await ask(Buffer.concat([bytes, Buffer.alloc(more, random.below(256))]).toString('base64url'))
    for (const text of ['=', '%', ' ', '\u0000', 'é', '==', '+', '/']) await ask(bytes.toString('base64url') + text)
  }
  for (let count = 0; count < 300; count++) {
    const length = 1 + random.below(3_000)
    const bytes = Buffer.from(Array.from({ length }, () => random.below(256)))
    bytes.write('TM')
    bytes[2] = random.below(20)
    bytes[3] = random.below(3)
    await ask(bytes.toString('base64url'))
  }
  expect([...statuses.keys()].filter((status) => ![400, 410, 503].includes(status))).toEqual([])
  process.stderr.write(`hostile cursors: ${JSON.stringify([...statuses])}\n`)
})

test('a cursor of another team, list, view or fields gets 400', async () => {
  const { cursor } = pageIn(await api.get(`${feed}?limit=1`))
  for (const target of [
    '/api/v1/form-changes?',
    `${feed}?view=full&`,
    `${feed}?fields=id&`,
    `${feed}?fields=id,formId&`,
  ])
    expect((await api.get(`${target}cursor=${cursor}`)).status).toBe(400)
  expect((await api.get(`${feed}?cursor=${cursor}`, { key: api.keyOf(other) })).status).toBe(400)
})

test('an export is served without a cursor where its topic has too many partitions for one', async () => {
  const entity = submissionEntity({ id: 'late' })
  await api.replica.storeSubmissions({ team, id: 'late', entity, partition: 599 })
  await api.replica.publishPositions(instant, { lists: ['submissions/team-1'], partitions: 600 })
  for (let partition = 0; partition < 600; partition++)
    await api.replica.setPosition('submissions', partition, 1_000_000_000_000)
  const { status, text } = await api.get('/api/v1/records', { headers: { accept: 'application/x-ndjson' } })
  expect([status, text.split('\n').length]).toEqual([200, 5])
})
