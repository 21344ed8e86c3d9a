import { errors } from '@elastic/elasticsearch'
import fc from 'fast-check'
import type { ItemOutcome } from '../../../../indexer/bulk/bulkFailure.ts'
import { BulkWriter } from '../../../../indexer/bulk/bulkWriter.ts'
import type { Outcome, StoredState } from '../../../../indexer/bulk/job.ts'
import type { DocumentWrite } from '../../../../indexer/convertRecord.ts'
import { documentsOf, responseError } from '../../../support/bulkRecords.ts'

const kinds = ['forms', 'form-details'] as const
const entities = ['a', 'b', 'c'] as const
const maxDocuments = 6
/** A writer with nothing under way for so long has lost a record. */
const maxIdleTurns = 200
type Submitted = { readonly entity: (typeof entities)[number]; readonly version: number; readonly content: string }

/** Elasticsearch as far as versions and contents go: it answers when the scheduler says so, and fails as `luck` says. */
class Engine {
  readonly stored = new Map<string, { readonly version: number; readonly content: string }>()
  readonly faults: string[] = []
  readonly #underWay = new Set<string>()
  readonly #luck: number[]
  readonly #refused: readonly number[]
  readonly #scheduler: fc.Scheduler

  constructor(scheduler: fc.Scheduler, luck: readonly number[], refused: readonly number[]) {
    this.#scheduler = scheduler
    this.#luck = [...luck]
    this.#refused = refused
  }

  async send(documents: readonly DocumentWrite[]): Promise<ItemOutcome[]> {
    const ids = new Set(documents.map(({ id }) => id))
    for (const id of ids) if (this.#underWay.has(id)) this.faults.push(`${id} is under way twice`)
    if (documents.length > maxDocuments) this.faults.push(`${documents.length} documents in a request`)
    for (const id of ids) this.#underWay.add(id)
    await this.#scheduler.schedule(Promise.resolve())
    for (const id of ids) this.#underWay.delete(id)
    this.#failSometimes(documents.length)
    return documents.map((document) => this.#write(document))
  }

  async readStored(lists: readonly DocumentWrite[]): Promise<(StoredState | undefined)[]> {
    await this.#scheduler.schedule(Promise.resolve())
    this.#failSometimes(1)
    return lists.map(({ kind, id }) => {
      const stored = this.stored.get(`${kind} ${id}`)
      // A copy that lags.
      return stored === undefined || this.#next() % 8 === 0
        ? undefined
        : { version: stored.version, digest: stored.content }
    })
  }

  async acceptsWrites(documents: readonly DocumentWrite[]): Promise<boolean[]> {
    await this.#scheduler.schedule(Promise.resolve())
    this.#failSometimes(1)
    return documents.map(() => this.#next() % 2 === 0)
  }

  #failSometimes(count: number): void {
    const mood = this.#next() % 8
    if (mood === 0) throw responseError(503)
    if (mood === 1) throw new errors.TimeoutError('slow')
    if (mood === 2 && count > 2) throw responseError(413)
  }

  #write({ kind, id, version, source, replacesSameVersion }: DocumentWrite): ItemOutcome {
    if (this.#refused.includes(version)) return { kind: 'reject', reason: 'refused' }
    const mood = this.#next() % 12
    if (mood === 0) return { kind: 'retry', reason: 'busy' }
    if (mood === 1) return { kind: 'pause', reason: 'blocked' }
    if (mood === 3) return { kind: 'busy', reason: 'busy' }
    if (mood === 4) return { kind: 'suspect', reason: 'unknown' }
    if (mood === 5) return { kind: 'away', reason: 'no primary' }
    const current = this.stored.get(`${kind} ${id}`)?.version ?? 0
    if (replacesSameVersion ? current > version : current >= version) return { kind: 'stale' }
    this.stored.set(`${kind} ${id}`, { version, content: source.toString() })
    // Stored, but the answer may still tell of a failure: a shard that answered too late.
    return mood === 2 ? { kind: 'retry', reason: 'late' } : { kind: 'written' }
  }

  #next(): number {
    return this.#luck.shift() ?? 7
  }
}

const history = fc.record({
  records: fc.array(
    fc.record({
      entity: fc.constantFrom(...entities),
      version: fc.integer({ min: 1, max: 12 }),
      content: fc.constantFrom('{"a":1}', '{"a":2}'),
    }),
    { maxLength: 40, size: 'max' },
  ),
  refused: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
  luck: fc.array(fc.nat(1_000), { maxLength: 80, size: 'max' }),
})

/** Hands all records over, some of them late, and lets the engine answer in random order until each is done. */
async function outcomesOf(
  engine: Engine,
  records: readonly Submitted[],
  scheduler: fc.Scheduler,
): Promise<Outcome[][]> {
  const outcomes: Outcome[][] = records.map(() => [])
  const fatal: Error[] = []
  const writer = new BulkWriter({
    send: (documents) => engine.send(documents),
    ...{ maxBulkBytes: 1_000, maxBulkDocuments: maxDocuments },
    readStored: (asked) => engine.readStored(asked),
    acceptsWrites: (documents) => engine.acceptsWrites(documents),
    ...{ elapsedMs: () => 0, random: () => 0, signal: new AbortController().signal, onBlocked: () => undefined },
    onFatal: (error) => fatal.push(error),
  })
  const submit = (record: Submitted, at: number): void =>
    writer.submit({
      documents: documentsOf(record.entity, record.version, record.content),
      reportsConflicts: true,
      name: () => `record ${at}`,
      done: (outcome) => outcomes[at]?.push(outcome),
    })
  // The records of one entity come in the order of their partition, some of them late.
  const [early, late] = [records.length / 3, (2 * records.length) / 3]
  const submitBetween = (from: number, to: number): void => {
    for (const [at, record] of records.entries()) if (at >= from && at < to) submit(record, at)
  }
  submitBetween(0, early)
  scheduler
    .schedule(Promise.resolve())
    .then(() => submitBetween(early, late))
    .then(() => scheduler.schedule(Promise.resolve()))
    .then(() => submitBetween(late, records.length), fatal.push)
  let idleTurns = 0
  while (outcomes.some(({ length }) => length === 0) && fatal.length === 0 && idleTurns < maxIdleTurns) {
    idleTurns = scheduler.count() > 0 ? 0 : idleTurns + 1
    if (idleTurns === 0) await scheduler.waitOne()
    // A retry waits for a timer of no time at all, which comes before one that is set later.
    await new Promise((resolve) => (idleTurns === 0 ? setImmediate(resolve) : setTimeout(resolve)))
  }
  expect(fatal).toEqual([])
  return outcomes
}

/** The first record of the highest version that is not refused is stored, and of that version each with other content is told of it. */
function expectFirst(
  entity: Submitted['entity'],
  { stored }: Engine,
  records: readonly Submitted[],
  outcomes: readonly Outcome[][],
  refused: readonly number[],
): void {
  const kept = records.filter((record) => record.entity === entity && !refused.includes(record.version))
  const highest = Math.max(...kept.map(({ version }) => version))
  const first = kept.find(({ version }) => version === highest)
  const expected = first && { version: highest, content: first.content }
  for (const kind of kinds) expect(stored.get(`${kind} t/${entity}`)).toEqual(expected)
  // Of a lower version nobody knows what was stored once a higher one has come in between.
  const ofHighest = [...records.keys()].filter((at) =>
    kept.some((each) => each === records[at] && each.version === highest),
  )
  for (const at of ofHighest)
    expect(outcomes[at]?.[0]?.kind === 'conflict').toBe(records[at]?.content !== first?.content)
}

test('for any failures in any order, each record gets one outcome, and the first accepted record of the highest version is stored', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.scheduler(), async ({ records, refused, luck }, scheduler) => {
      const engine = new Engine(scheduler, luck, refused)
      const outcomes = await outcomesOf(engine, records, scheduler)
      expect(engine.faults).toEqual([])
      expect(outcomes.map(({ length }) => length)).toEqual(records.map(() => 1))
      for (const [at, { version }] of records.entries())
        if (!refused.includes(version)) expect(outcomes[at]?.[0]?.kind).not.toBe('rejected')
      for (const entity of entities) expectFirst(entity, engine, records, outcomes, refused)
    }),
    { numRuns: 200, endOnFailure: true },
  )
})
