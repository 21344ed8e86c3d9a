import { codes, ownForm, type QueryData, type StoredEntity, texts } from './queryData.ts'
import { answersTo, askedMembers, expectedTotal, type ListQuery } from './queryOracle.ts'
import type { Random } from './random.ts'
import { scenes, statuses } from './randomHistory.ts'
import { typedFor } from './randomTitles.ts'
import { wellFormed } from './wellFormed.ts'

/** A query, and its request target in one of several spellings. */
export type WrittenQuery = ListQuery & { readonly target: string }

const noDates = ['2026-02-30', '2025-02-29', '1772359200', '2026-3-1', '2026-03-01T24:00Z', '2026-03-01T10', 'now']
const dates = ['2026-03-01', '2026-02-28', '2026-03-02', '2026-11-20', '1969-12-31', '0000-01-01', '9999-12-31']
const noForms = ['f', 'F0', 'f0*', 'no id', 'é']
/** The first and the last millisecond of four-digit years. */
const [earliestMs, latestMs] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')]
const offsetsMinutes = [0, 60, 120, 330, -330, 840, -720]

/** A random query of a team's list: any filters, dates in any format, pages up to beyond the last one. */
export function randomQuery(random: Random, history: QueryData): WrittenQuery {
  const team = random.chance(0.7) ? 'acme' : random.pick(history.teams)
  const list = random.pick(['forms', 'records', 'records'] as const)
  const filters = random.chance(0.3) ? {} : randomFilters(random, history, list, team)
  const answers = list === 'records' && random.chance(0.3) ? randomAnswers(random, history, team) : []
  const limit = random.pick([1, 2, 7, 20, 100, 1 + random.below(100)])
  const isLimited = random.chance(0.8)
  const total = expectedTotal(history.stored, { list, team, parameters: filters, answers }) ?? 0
  const lastPage = Math.ceil(total / (isLimited ? limit : 20))
  const page = random.chance(0.02) ? Number.MAX_SAFE_INTEGER : 1 + random.below(lastPage + 2)
  const parameters = {
    ...filters,
    ...(isLimited && { limit: String(limit) }),
    ...(random.chance(0.8) && { page: String(page) }),
  }
  return { list, team, parameters, answers, target: targetOf(random, list, parameters, answers) }
}

/** Answers of one submission, some with others as alternatives. */
function randomAnswers(random: Random, { stored }: QueryData, team: string): NonNullable<ListQuery['answers']> {
  const { entity } = random.pick(stored.filter((item) => item.team === team && item.list === 'records'))
  const chosen = random.shuffled(wellFormed(codes)).slice(0, random.pick([1, 1, 2, 3]))
  return chosen.map((code) => {
    const own = random.chance(0.9) ? answersTo(code, entity).slice(0, 1) : []
    const others = own.length === 0 || random.chance(0.3) ? [random.pick(texts), random.pick(['8', '', 'true'])] : []
    return [code, wellFormed([...own, ...others])]
  })
}

function randomFilters(
  random: Random,
  { stored, teams }: QueryData,
  list: ListQuery['list'],
  team: string,
): Record<string, string> {
  const own = stored.filter((item) => item.team === team && item.list === list)
  const filters: Record<string, string> = {}
  const maybe = (probability: number, name: string, value: () => string): void => {
    if (random.chance(probability)) filters[name] = value()
  }
  if (list === 'forms') {
    maybe(0.2, 'scene', () => random.pick(scenes))
    maybe(0.7, 'titleContains', () => typedFor(random, random.pick(own).entity.title))
  } else {
    maybe(0.4, 'formId', () => random.pick(['f0', 'f1', ownForm(team), ownForm(random.pick(teams)), ...noForms]))
    maybe(0.4, 'status', () => random.pick(statuses))
    // From one submission, so that several filters together find a row.
    const { entity } = random.pick(own)
    for (const [name, memberOf] of Object.entries(askedMembers))
      maybe(0.07, name, () =>
        String(random.chance(0.8) ? (memberOf(entity) ?? 7) : wellFormed(random.pick(textsFor(name)))),
      )
    const near = (): string => String((entity.result.score ?? 0) + random.pick([0, 0, 1, -1]))
    maybe(0.1, 'minScore', near)
    maybe(0.1, 'maxScore', near)
    maybe(0.25, 'since', () => someBound(random, createdMs(random.pick(own))))
    maybe(0.25, 'until', () => someBound(random, createdMs(random.pick(own))))
  }
  maybe(0.15, 'changedSince', () => someBound(random, random.pick(own).changedMs))
  maybe(0.15, 'changedUntil', () => someBound(random, random.pick(own).changedMs))
  return filters
}

const textsFor = (name: string): readonly string[] =>
  name === 'serialNumber' ? ['1', '2'] : name === 'email' ? ['ADA@EXAMPLE.COM', 'none@x.example'] : texts

const createdMs = ({ entity }: StoredEntity): number => Date.parse(entity.createdAt ?? entity.submittedAt)

/** A date near a stored time, with any precision and offset. */
function someBound(random: Random, epochMs: number): string {
  if (random.chance(0.02)) return random.pick(noDates)
  if (random.chance(0.15)) return random.pick(dates)
  const offset = random.pick(offsetsMinutes)
  const near = epochMs + random.pick([0, 0, 0, 1, -1, random.below(100_000)])
  const localMs = near + offset * 60_000
  if (localMs < earliestMs || localMs > latestMs) return new Date(epochMs).toISOString()
  const local = new Date(localMs).toISOString()
  const finer = `${random.pick(['.', '.', ','])}${local.slice(20, 23)}${random.pick(['', '0', '000', '1', '999999', '0001'])}`
  const fraction = random.pick([local.slice(19, 23), finer, '', `.${local.slice(20, 20 + 1 + random.below(3))}`])
  const time = random.chance(0.1) ? local.slice(0, 16) : local.slice(0, 19) + fraction
  return time + writtenOffset(random, offset)
}

function writtenOffset(random: Random, minutes: number): string {
  if (minutes === 0) return random.pick(['Z', '', '+00:00', '-00:00', '+00'])
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, '0')
  const [hours, rest] = [two(Math.abs(minutes) / 60), two(Math.abs(minutes) % 60)]
  const sign = minutes < 0 ? '-' : '+'
  const forms = [`${hours}:${rest}`, `${hours}${rest}`, ...(rest === '00' ? [hours] : [])]
  return sign + random.pick(forms)
}

/** A JSON object of answers by code; one without alternatives is a text or a list of one. */
const asJson = (random: Random, answers: NonNullable<ListQuery['answers']>): string =>
  JSON.stringify(
    Object.fromEntries(
      answers.map(([code, values]) => [code, values.length > 1 || random.chance(0.3) ? values : values[0]]),
    ),
  )

/** A request target with parameters in any order; `+` of a date as `%2B`, `+` (a common mistake) or a space. */
function targetOf(
  random: Random,
  list: ListQuery['list'],
  parameters: ListQuery['parameters'],
  answers: NonNullable<ListQuery['answers']> = [],
): string {
  // Each code may be sent by `answer.<code>` or in `answers`.
  const inJson = answers.filter(() => random.chance(0.5))
  const single = answers
    .filter((answer) => !inJson.includes(answer))
    .flatMap(([code, values]) =>
      values.map((value) => `answer.${encodeURIComponent(code)}=${encodeURIComponent(value)}`),
    )
  if (inJson.length > 0) single.push(`answers=${encodeURIComponent(asJson(random, inJson))}`)
  const pairs = random.shuffled(Object.entries(parameters)).map(([name, value]) => {
    const encoded = encodeURIComponent(value.toWellFormed())
    return `${name}=${/since|until/i.test(name) ? encoded.replace('%2B', random.pick(['%2B', '+', '%20'])) : encoded}`
  })
  return `/api/v1/${list}${random.pick(['', '/'])}?${random.shuffled([...pairs, ...single]).join('&')}`
}
