import type { Row, Section } from '../../report.ts'
import type { Lists } from '../lists.ts'
import { anyAnswer, unchanged } from './polling.ts'
import { type Load, pollersOf } from './run.ts'
import { type PollingTeam, pollKinds, usual } from './script.ts'

const atOnce = 16
const cacheless = 'ANSWER_CACHE_BYTES=0'
const caching = 'default'
const nameOf = (rate: string, cache: string): string => `usual mix, ${rate}, ${cache}`
const rateOf = (pollers: number): string => `${pollers} requests/s`
const unbounded = `${atOnce} at once`

/** A mix of 10 % conditional requests, 60 % repeated questions and 30 % new ones, to an API that keeps no answers and to one that does. */
export function usualLoads(
  { apiOrigin, cachingOrigin }: Pick<Lists, 'apiOrigin' | 'cachingOrigin'>,
  teams: readonly PollingTeam[],
  pollers: number,
): Load[] {
  return [
    { cache: cacheless, origin: apiOrigin },
    { cache: caching, origin: cachingOrigin },
  ].flatMap(({ cache, origin }) => {
    const load = (): Omit<Load, 'name'> => ({ origin, pollers: pollersOf(teams, usual, pollers), probes: [] })
    return [
      { ...load(), name: nameOf(rateOf(pollers), cache) },
      { ...load(), name: nameOf(unbounded, cache), atOnce },
    ]
  })
}

/** What kept answers bring; `sampleName` is that of an answer under a load. */
export function usualSections(pollers: number, sampleName: (load: string, answer: string) => string): Section[] {
  const rowsOf = (rate: string, answers: readonly string[]): Row[] =>
    answers.flatMap((answer) => {
      const to = { label: cacheless, of: sampleName(nameOf(rate, cacheless), answer) }
      return [
        { label: `${answer}, ${cacheless}`, of: to.of },
        { label: answer, of: sampleName(nameOf(rate, caching), answer), to },
      ]
    })
  const title = 'Mix of 10 % conditional, 60 % repeated and 30 % new questions'
  const rate = rateOf(pollers)
  return [
    { title: `${title}, ${rate}`, measure: 'latency', rows: rowsOf(rate, [anyAnswer, unchanged, ...pollKinds]) },
    { title: `${title}, ${unbounded}`, measure: 'answers a second', rows: rowsOf(unbounded, [anyAnswer]) },
  ]
}
