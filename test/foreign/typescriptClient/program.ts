import {
  BadRequestError,
  type Batch,
  type Counts,
  type Form,
  type List,
  NotFoundError,
  type RecordDetails,
  type RecordSummary,
  Tidemark,
  TidemarkError,
  type TidemarkOptions,
  UnauthorizedError,
} from 'tidemark-client'

/** Says something to the test that runs this program. */
export type Say = (what: string, value: unknown) => unknown

/** Uses all that the package has, first on what is there, then on what the test changes. */
export async function run(options: TidemarkOptions, say: Say): Promise<void> {
  const tidemark = new Tidemark(options)
  const forms = await copyOf(tidemark, 'forms')
  const records = await copyOf(tidemark, 'records')
  await say('copies', { forms: [...forms.rows.values()], records: [...records.rows.values()] })
  await say('answers', await answers(tidemark, [...records.rows.keys()]))
  await say('refusals', await refusals(tidemark, options, forms.cursor))
  const latest = await cursorFromNowOn(tidemark)
  await say('following', typeof records.cursor)
  await sayChanges(tidemark, latest, say)
}

type Copy<Row> = { readonly rows: ReadonlyMap<string, Row>; readonly cursor: string }

/** A copy that is made in two runs: the first one ends after a batch. */
async function copyOf<L extends List>(tidemark: Tidemark, list: L): Promise<Copy<object>> {
  const rows = new Map<string, object>()
  const walks = new Map<string, string>()
  let cursor: string | undefined
  const apply = (batch: Batch<{ readonly id: string }>): void => {
    for (const { changedAt, deleted, ...row } of batch.rows) {
      if (deleted) rows.delete(row.id)
      else rows.set(row.id, row)
      walks.set(row.id, batch.walk)
    }
    if (batch.sweep) for (const id of rows.keys()) if (walks.get(id) !== batch.walk) rows.delete(id)
    cursor = batch.cursor
  }
  const options = { limit: 10, once: true } as const
  for await (const batch of tidemark.follow(list, options)) {
    apply(batch)
    break
  }
  for await (const batch of tidemark.follow(list, { ...options, cursor })) apply(batch)
  return { rows, cursor: cursor ?? '' }
}

async function answers(tidemark: Tidemark, ids: readonly string[]): Promise<object> {
  const exported: string[] = []
  const whole = tidemark.records.export({ view: 'full' })
  for await (const record of whole) exported.push(record.id)
  const listed: string[] = []
  for await (const { id } of tidemark.records.iterate({ fields: ['id'], limit: 7 })) listed.push(id)
  const page = await tidemark.records.list({ limit: 3, fields: ['result.score', 'id'] })
  const record: RecordDetails = await tidemark.records.get(ids[0] ?? '')
  const summary: RecordSummary | undefined = (await tidemark.records.list({ limit: 1 })).items[0]
  const [newest] = (await tidemark.forms.list({ limit: 1, fields: ['id'] })).items
  const form: Form = await tidemark.forms.get(newest?.id ?? '')
  const short = await tidemark.forms.get(form.id, { includeFields: false, includeReport: false })
  const byStatus: Counts<{ by: 'status' }> = await tidemark.counts({ by: 'status' })
  const byDay = await tidemark.counts({ by: 'day,level', timeZone: 'Europe/Berlin', scores: true })
  const keys: readonly (readonly [time: string, level: string | null])[] = byDay.items.map(({ key }) => key)
  const since: string[] = []
  for await (const { rows } of tidemark.follow('records', { cursor: whole.cursor, view: 'full', once: true }))
    since.push(...rows.map(({ id }) => id))
  return {
    exported,
    listed,
    since,
    pageMembers: page.items.map((item) => Object.keys(item)),
    records: page.totalDocs,
    record: [record.id, typeof record.reportResult],
    summary: summary?.id,
    form: ['fields' in form, 'report' in form, 'fields' in short, 'report' in short],
    counted: byStatus.items.reduce((sum, { count }) => sum + count, 0),
    countedByDay: byDay.items.reduce((sum, { count }) => sum + count, 0),
    scored: byDay.items.reduce((sum, { scores }) => sum + scores.count, 0),
    times: keys.every(([time]) => /^\d{4}-\d\d-\d\dT00:00:00/.test(time)),
  }
}

async function refusals(tidemark: Tidemark, options: TidemarkOptions, cursorOfForms: string): Promise<unknown[]> {
  const first = (batches: AsyncIterable<unknown>): Promise<unknown> =>
    Promise.resolve(batches[Symbol.asyncIterator]().next())
  const attempts: readonly (readonly [new (...values: never) => TidemarkError, () => Promise<unknown>])[] = [
    [BadRequestError, () => first(tidemark.follow('records', { cursor: cursorOfForms }))],
    [BadRequestError, () => tidemark.records.list({ limit: 101 })],
    [NotFoundError, () => tidemark.forms.get('no form')],
    [UnauthorizedError, () => new Tidemark({ ...options, accountKey: 'rqp_acct_wrong' }).counts({ by: 'form' })],
  ]
  const said: unknown[] = []
  for (const [Expected, attempt] of attempts) {
    const error = await attempt().catch((thrown: unknown) => thrown)
    if (!(error instanceof Expected && error instanceof TidemarkError)) throw error
    const { status, code, parameter } = error as BadRequestError
    said.push([error.name, status, code, parameter ?? null])
  }
  return said
}

async function cursorFromNowOn(tidemark: Tidemark): Promise<string> {
  let latest = ''
  const options = { cursor: 'latest', fields: ['formId'], once: true } as const
  for await (const { cursor } of tidemark.follow('records', options)) latest = cursor
  return latest
}

/** Says each row that comes while the API is followed, until one is a deletion; then the loop is ended by a signal. */
async function sayChanges(tidemark: Tidemark, cursor: string, say: Say): Promise<void> {
  const stop = new AbortController()
  const options = { cursor, waitSeconds: 60, fields: ['formId'], signal: stop.signal } as const
  try {
    for await (const { rows } of tidemark.follow('records', options)) {
      for (const row of rows) {
        await say('change', row.deleted ? [row.id, 'deleted'] : [row.id, row.formId])
        if (row.deleted) stop.abort(new Error('enough'))
      }
    }
  } catch (error) {
    if (error !== stop.signal.reason) throw error
  }
}
