import fc from 'fast-check'
import { useApi } from '../support/api.ts'
import { expectedCounts } from '../support/countOracle.ts'
import { submissionEntity } from '../support/entities.ts'
import { useStarted } from '../support/lifecycle.ts'
import { codes, randomAnswers, type StoredEntity, texts } from '../support/queryData.ts'
import { type Random, seeded } from '../support/random.ts'
import { wellFormed } from '../support/wellFormed.ts'

type Counts = { readonly totalDocs: number; readonly by: string; readonly items: { key: unknown; count: number }[] }

const shortCodes = wellFormed(codes).filter(({ length }) => length <= 256)
const endpoint = '/api/v1/record-counts'
/** How many random queries are asked of each index. */
const queries = Number(process.env['COUNT_QUERIES'] ?? 100)
const watermark = '2026-11-21T10:00:00.123Z'

/** Elasticsearch rounds times in other ways when an index holds those of a few days, of a few changes of the clock, or of many. */
describe.each([
  ['decades', ''],
  ['a year', '2026'],
  ['a few days', '2026-03-29'],
  ['a few days when clocks were put back at midnight', '2006-10-29'],
])('every answer of /record-counts in %s', (_span, during) => {
  const team = 'acme'
  /**
   * Zones, and when their clocks were put forward or back, an hour or less or a day, at night or at midnight. Each has had the same
   * rules for years: Elasticsearch and this process may know different ones of a zone that has just got new ones.
   */
  const changes: Readonly<Record<string, readonly string[]>> = {
    UTC: ['2026-03-01T00:00:00Z', '1969-12-31T23:59:59.999Z'],
    'Europe/Berlin': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
    'America/New_York': ['2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'],
    'America/Havana': ['2026-03-08T05:00:00Z', '2026-11-01T05:00:00Z'],
    'America/Sao_Paulo': ['2018-11-04T03:00:00Z', '2018-02-18T02:00:00Z'],
    'America/St_Johns': ['2006-10-29T02:31:00Z', '2026-03-08T05:30:00Z'],
    'Australia/Lord_Howe': ['2026-04-04T15:00:00Z', '2026-10-03T15:30:00Z'],
    'Africa/Monrovia': ['1972-01-07T00:44:30Z'],
    'Antarctica/Troll': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
    'Asia/Kathmandu': ['1985-12-31T18:30:00Z'],
    'Asia/Kolkata': ['1945-10-14T17:30:00Z', '2026-11-20T18:30:00Z'],
    'Pacific/Apia': ['2011-12-30T10:00:00Z'],
    'Pacific/Kiritimati': ['1994-12-31T10:00:00Z'],
    // Names that are read as well, of zones whose clocks are as good as any.
    ...{ 'Etc/GMT+2': [], 'us/pacific': [], NZ: [] },
  }
  const zones = Object.keys(changes)
  const moments = [...new Set(Object.values(changes).flat())]
    .filter((change) => change.startsWith(during))
    .map((change) => Date.parse(change))
  const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]

  const near = (random: Random, epochMs: number): number => {
    const farMs = during === '' ? 40 * dayMs : dayMs
    const reachMs = random.pick([1, minuteMs, hourMs, 4 * hourMs, 2 * dayMs, farMs])
    return epochMs + random.pick([0, random.below(reachMs), -1 - random.below(reachMs)])
  }
  const random = seeded(Math.floor(Math.random() * 2 ** 31))
  const sent: StoredEntity[] = Array.from({ length: 1_200 }, (_, at) => ({
    list: 'records',
    team: at < 1_000 ? team : 'another',
    changedMs: Date.parse('2026-11-20T12:00:00Z') + random.below(1_000),
    entity: submissionEntity({
      id: `s${at}`,
      submittedAt: new Date(near(random, random.pick(moments))).toISOString(),
      formId: random.pick(['f0', 'f1', 'f-2', 'F:3', 'f_4', random.pick(['rare', 'rarer'])]),
      data: randomAnswers(random),
      metadata: { utmSource: random.pick(texts), utmCampaign: random.pick([null, 'c1', 'c2']) },
      result: {
        status: random.pick(['pending', 'processing', 'completed', 'failed']),
        ...{ level: random.pick([null, ...texts]), outcomeCode: random.pick(['o1', null]) },
        score: random.pick([null, 0, random.below(1_000) / 8, random.below(1_000) / 8, random.pick([5, 2 ** 50])]),
      },
    }),
  }))
  const held = wellFormed(sent)
  const api = useApi({
    teams: [team],
    submissions: sent.map(({ team, entity, changedMs }) => {
      return { team, id: entity.id, entity, appendedAt: new Date(changedMs).toISOString() }
    }),
    watermark,
  })
  /** Keeps no answers. */
  const uncached = useStarted('the other API', () => api.startAnother({ ANSWER_CACHE_BYTES: '0' }))
  const read = async (isKept: boolean, target: string): Promise<Counts> => {
    const { status, json } = await (isKept ? api : uncached).send(target, { key: api.key })
    expect(status).toBe(200)
    return json as Counts
  }

  const aroundMs = fc.integer({ min: -3 * dayMs, max: 3 * dayMs })
  const anyTime = fc.record({ moment: fc.constantFrom(...moments), aroundMs })
  const someFilters = fc.record(
    {
      formId: fc.constantFrom('f0', 'F:3', 'none'),
      status: fc.constantFrom('pending', 'failed'),
      level: fc.constantFrom('good', 'a b'),
      'answer.q1': fc.constantFrom('good', '8', 'true'),
      changedSince: fc.constantFrom('2026-11-20T12:00:00.500Z', '2026-11-21'),
      changedUntil: fc.constantFrom('2026-11-20T12:00:00.700Z'),
    },
    { requiredKeys: [] },
  )
  // Of few submissions, most counts are alike.
  const anyFilter = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 2, arbitrary: someFilters })
  const names = ['form', 'status', 'level', 'outcome', 'utmSource', 'utmCampaign']
  const [units, zone, code] = [['hour', 'day', 'month'], fc.constantFrom(...zones), fc.constantFrom(...shortCodes)]
  const both = (values: readonly string[]) => units.flatMap((unit) => values.map((value) => `${unit},${value}`))
  const anyScores = fc.record({ scores: fc.constantFrom('true', 'false') }, { requiredKeys: [] })
  const anyGrouping = fc
    .oneof(
      fc.record({ by: fc.constantFrom(...names) }),
      fc.record({ by: fc.constantFrom(...units, ...both(names)), timeZone: zone }),
      fc.record({ by: fc.constantFrom('hour', 'day') }),
      fc.record({ by: fc.constant('answer'), code }),
      fc.record({ by: fc.constantFrom(...both(['answer'])), code, timeZone: zone }),
    )
    .chain((grouping) => anyScores.map((scores) => ({ ...grouping, ...scores })))
  const anyWindow = (isOpen: boolean): fc.Arbitrary<{ since?: string; until?: string }> =>
    fc
      .record({ from: anyTime, lengthMs: fc.integer({ min: 0, max: 6 * dayMs }) })
      .map(({ from: { moment, aroundMs }, lengthMs }) => ({
        since: new Date(moment + aroundMs).toISOString(),
        until: new Date(moment + aroundMs + lengthMs).toISOString(),
      }))
      .chain((window) => (isOpen ? fc.constantFrom({}, window, { since: window.since }) : fc.constant(window)))
  const anyQuery = anyGrouping.chain((grouping) =>
    fc
      .tuple(anyFilter, anyWindow(!['hour', 'day'].includes(grouping.by)))
      .map(([filter, window]): Record<string, string> => ({ ...grouping, ...filter, ...window })),
  )

  test(
    'equals a count by plain rules over all submissions, and adds up to the total of the list',
    async () => {
      await fc.assert(
        fc.asyncProperty(anyQuery, fc.boolean(), async (query, isKept) => {
          const { by: _by, timeZone: _zone, code: _code, scores: _scores, ...filters } = query
          const { 'answer.q1': answer, ...plain } = query
          const counts = await read(isKept, `${endpoint}?${new URLSearchParams(query)}`)
          const { totalDocs } = await read(isKept, `/api/v1/records?${new URLSearchParams(filters)}`)
          expect(counts).toEqual(expectedCounts(held, team, plain, answer === undefined ? [] : [['q1', [answer]]]))
          expect(counts.totalDocs).toBe(totalDocs)
          const sum = counts.items.reduce((sum, { count }) => sum + count, 0)
          if (query['by']?.endsWith('answer')) expect(sum).toBeGreaterThanOrEqual(totalDocs)
          else expect(sum).toBe(totalDocs)
        }),
        { numRuns: queries },
      )
    },
    60_000 + queries * 200,
  )
})
