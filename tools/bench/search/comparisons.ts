import type { Sample } from '../load/generator.ts'
import type { Pace, SqlAddress, Target } from '../load/job.ts'
import { type Comparison, loadContender, type Measuring, rounds, together } from '../measuring.ts'
import type { Row } from '../report.ts'
import { type Contender, rotated } from '../rounds.ts'
import { formsRequest, type ServedTeam } from './api.ts'
import { type PlainPart, plainSearch } from './plainIndex.ts'
import type { Pools } from './pools.ts'
import { sqlExact, sqlSimilar } from './sqlTable.ts'
import { isMisspelt, type TypedKind, typedKinds } from './typed.ts'

/** A team whose titles are searched, and what that may cost. */
export type SearchedTeam = {
  readonly team: ServedTeam
  readonly pools: Pools
  /** A search may take so many times as long as the plain list. */
  readonly mostLists: number
}

type Asked = Measuring & { readonly origin: string }

/** A slow contender does not get through all texts in a round. */
export const roundMs = 2_000
const listTurns = 120
const leadInTurns = 10

/** The part of the plain search that can find what is typed so. */
const partOf = (kind: TypedKind): PlainPart => (isMisspelt(kind) ? 'match' : 'wildcard')

/** All searches of some teams, beside their plain lists; without PostgreSQL when there is none. */
export const compareSearches = (
  asked: Asked,
  searched: readonly SearchedTeam[],
  sql: SqlAddress | undefined,
): Comparison =>
  together(
    searched.flatMap((each) => [
      besideList(asked, each),
      besidePlainIndex(asked, each),
      ...(sql === undefined ? [] : [besidePostgres(asked, each, sql)]),
    ]),
  )

const apiName = ({ team }: SearchedTeam, what: TypedKind | 'plain list'): string => `${team.name}: API, ${what}`

function besideList(asked: Asked, searched: SearchedTeam): Comparison {
  const { team, mostLists } = searched
  const list = apiName(searched, 'plain list')
  const target: Target = { kind: 'http', origin: asked.origin, turns: [[formsRequest(team, {})]] }
  return {
    contenders: [
      loadContender(list, asked, paceOf(listTurns), () => target),
      ...typedKinds.map((kind) =>
        perText(apiName(searched, kind), asked, searched, kind, (turns) => ({
          kind: 'http',
          origin: asked.origin,
          turns: turns.map((typed) => [formsRequest(team, { typed })]),
        })),
      ),
    ],
    sections: [
      {
        title: `${team.name}: API, title search beside the plain list, limit=20`,
        measure: 'latency',
        rows: [
          { label: 'plain list', of: list },
          ...typedKinds.map((kind) => ({
            label: kind,
            of: apiName(searched, kind),
            to: { label: 'plain list', of: list, goal: { atMost: mostLists } },
          })),
        ],
      },
    ],
  }
}

function besidePlainIndex(asked: Asked, searched: SearchedTeam): Comparison {
  const { team } = searched
  const name = (kind: TypedKind, part: PlainPart): string => `${team.name}: plain index, ${part}, ${kind}`
  const plain = (kind: TypedKind, part: PlainPart): Contender<Sample> =>
    perText(name(kind, part), asked, searched, kind, (turns) => ({
      kind: 'http',
      origin: asked.stage.urls.ELASTICSEARCH_URL,
      turns: turns.map((typed) => [plainSearch(team.id, typed, part)]),
    }))
  const rowsOf = (kind: TypedKind): Row[] => {
    const whole = { label: 'plain index', of: name(kind, 'match or wildcard') }
    return [
      { label: `plain index, ${kind}`, of: whole.of },
      { label: `plain index, ${kind}, ${partOf(kind)} alone`, of: name(kind, partOf(kind)) },
      { label: `API, ${kind}`, of: apiName(searched, kind), to: { ...whole, goal: { atMost: 1 } } },
    ]
  }
  return {
    contenders: typedKinds.flatMap((kind) => [plain(kind, 'match or wildcard'), plain(kind, partOf(kind))]),
    sections: [
      {
        title: `${team.name}: API against a plain index in the same Elasticsearch, the same texts`,
        measure: 'latency',
        rows: typedKinds.flatMap(rowsOf),
      },
    ],
  }
}

function besidePostgres(asked: Asked, searched: SearchedTeam, address: SqlAddress): Comparison {
  const { team } = searched
  const name = (kind: TypedKind): string => `${team.name}: PostgreSQL, ${kind}`
  const queryOf = (kind: TypedKind) => (isMisspelt(kind) ? sqlSimilar : sqlExact)
  return {
    contenders: typedKinds.map((kind) =>
      perText(name(kind), asked, searched, kind, (turns) => ({
        kind: 'postgres',
        address,
        turns: turns.map((typed) => [queryOf(kind)(team.id, typed)]),
      })),
    ),
    sections: [
      {
        title: `${team.name}: PostgreSQL with pg_trgm, the same texts`,
        measure: 'latency',
        rows: typedKinds.flatMap((kind) => {
          const api = { label: `API, ${kind}`, of: apiName(searched, kind) }
          return [api, { label: `PostgreSQL, ${kind}`, of: name(kind), to: api }]
        }),
      },
    ],
  }
}

/** Goes through the texts once a round, every contender in the same order, and begins each round further on. */
function perText(
  name: string,
  asked: Asked,
  { pools }: SearchedTeam,
  kind: TypedKind,
  targetOf: (turns: readonly string[]) => Target,
): Contender<Sample> {
  const texts = (pools.get(kind)?.fit ?? []).map(({ typed }) => typed)
  const step = Math.ceil(texts.length / (rounds.warmUps + rounds.measured))
  return loadContender(name, asked, paceOf(texts.length), (round) => targetOf(rotated(texts, round * step)))
}

const paceOf = (maxTurns: number): Pace => ({ atOnce: 1, leadInTurns, maxTurns, maxMs: roundMs })
