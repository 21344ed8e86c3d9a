import { asking, type Comparison, type Rounds, rotated } from '../comparison.ts'
import type { HttpRequest, Pace } from '../load.ts'
import type { Stage } from '../stage.ts'
import { plainSearch } from './plainIndex.ts'
import { formsRequest, type Pools, type ServedTeam } from './pools.ts'
import { type TypedKind, typedKinds } from './typed.ts'

/** `mostLists`: the most time of a search, as a multiple of the time of a plain list. */
type SearchedTeam = { readonly team: ServedTeam; readonly pools: Pools; readonly mostLists: number }

const listRequests = 120
/** A slow contender does not finish all texts in a round. */
const roundMs = 2_000
const paceOf = (maxRequests: number): Pace => ({ connections: 1, leadIn: 10, maxRequests, maxMs: roundMs })

/** All searches of a team through the API, beside its plain list and beside a plain index in the same Elasticsearch. */
export function compareSearches(
  origin: string,
  { team, pools, mostLists }: SearchedTeam,
  { warmUps, measured }: Rounds,
  stage: Stage,
): Comparison {
  const listName = `${team.name}: plain list`
  const apiName = (kind: TypedKind): string => `${team.name}: API, ${kind}`
  const plainName = (kind: TypedKind): string => `${team.name}: plain index, ${kind}`
  /** The same order for every contender. Each round starts at a later text. */
  const perText = (name: string, to: string, kind: TypedKind, requestOf: (typed: string) => HttpRequest) => {
    const texts = pools.get(kind) ?? []
    const step = Math.ceil(texts.length / (warmUps + measured))
    return asking(name, to, paceOf(texts.length), stage, (round) => rotated(texts, round * step).map(requestOf))
  }
  return {
    contenders: [
      asking(listName, origin, paceOf(listRequests), stage, () => [formsRequest(team)]),
      ...typedKinds.flatMap((kind) => [
        perText(apiName(kind), origin, kind, (typed) => formsRequest(team, typed)),
        perText(plainName(kind), stage.urls.ELASTICSEARCH_URL, kind, (typed) => plainSearch(team.id, typed)),
      ]),
    ],
    sections: [
      {
        title: `${team.name}: API, title search beside the plain list, limit=20`,
        measure: 'latency',
        rows: [
          { label: 'plain list', of: listName },
          ...typedKinds.map((kind) => ({
            label: kind,
            of: apiName(kind),
            to: { label: 'plain list', of: listName, goal: { atMost: mostLists } },
          })),
        ],
      },
      {
        title: `${team.name}: API against a plain index in the same Elasticsearch, the same texts`,
        measure: 'latency',
        rows: typedKinds.flatMap((kind) => [
          { label: `plain index, ${kind}`, of: plainName(kind) },
          {
            label: `API, ${kind}`,
            of: apiName(kind),
            to: { label: 'plain index', of: plainName(kind), goal: { atMost: 1 } },
          },
        ]),
      },
    ],
  }
}
