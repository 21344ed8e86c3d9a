import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import type { TeamId } from '../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import { type EntityType, entityTypes, teamList } from '../../src/core/model/teamList.ts'
import type { Engine } from '../../tools/engines/engines.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { type OwnRedis, startDeadlineMs, startOwnRedis } from '../support/ownEngines.ts'
import { useReplica } from '../support/useApi.ts'

const teams = ['team-1', 'team-2'] as const
const ids = ['a', 'b', 'c']
const encodings = ['identity', 'gzip', 'br', 'zstd'] as const
/** Long enough to be compressed; a few dozen answers fill the cache. */
const padding = 'some text '.repeat(150)
const cacheBytes = 256 * 1024
const questions = ['?limit=2', '?limit=2&page=2', '/a', '/b', '?changedSince=2026-01-01'] as const

type Team = (typeof teams)[number]
/** The steps by which an indexer makes a change visible, in their order. */
const steps = ['mark', 'show', 'replace token', 'remove mark', 'publish watermark'] as const
type Command =
  | { readonly kind: 'step'; readonly team: Team; readonly type: EntityType; readonly id: number }
  | { readonly kind: 'crash' }
  | { readonly kind: 'restart API'; readonly api: number }
  | { readonly kind: 'restart Redis' }
  | {
      readonly kind: 'read'
      readonly api: number
      readonly team: Team
      readonly type: EntityType
      readonly question: (typeof questions)[number]
      readonly encoding: (typeof encodings)[number]
      readonly isConditional: boolean
    }

/** Mostly the first one, so that the same is asked again while something happens to it. */
const mostly = <T>(first: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(first, ...others) })
const someTeam = mostly(...teams)
const someType = mostly(...entityTypes)
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      api: mostly(0, 1),
      team: someTeam,
      type: someType,
      question: mostly(...questions),
      encoding: mostly(...encodings),
      isConditional: mostly(false, true),
    }),
  },
  {
    weight: 30,
    arbitrary: fc.record({ kind: fc.constant('step' as const), team: someTeam, type: someType, id: fc.nat(2) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart API' as const), api: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart Redis' as const) }) },
)

let own: OwnRedis
let redis: Engine
beforeAll(async () => {
  own = await startOwnRedis()
  redis = own.redis
}, startDeadlineMs)
const underTest = useReplica({ teams })
const apis: TestApi[] = []
afterAll(async () => {
  await Promise.all(apis.map((api) => api.close()))
})
afterAll(() => own?.stop())

const startApi = (): Promise<TestApi> =>
  startTestApi({
    settings: {
      INDEX_PREFIX: underTest.replica.prefix,
      RATE_LIMIT_PER_MINUTE: '1000000',
      ANSWER_CACHE_BYTES: String(cacheBytes),
    },
  })

/** A list as its readers find it, and how far a change of it has come. */
type ModelList = {
  /** The number of each entity's newest visible state. */
  readonly visible: Map<string, number>
  /** Every state that was visible, by its version. */
  readonly history: string[]
  /** The version that the watermark promises. */
  promised: number
  /** What is to be done next for the change under way, by its position in `steps`. */
  next: number
  changing: string
  isMarked: boolean
}

let revision = 0
let watermarkMs = Date.UTC(2026, 10, 1)

class Model {
  readonly #lists = new Map<string, ModelList>()
  /** What clients hold, by their question: the ETag, and the version of the list that the answer showed. */
  readonly #held = new Map<string, { etag: string; version: number }>()

  async begin(): Promise<void> {
    await underTest.replica.publishWatermark(toInstant(watermarkMs) as Instant)
    for (const team of teams)
      for (const type of entityTypes) {
        const list = {
          visible: new Map<string, number>(),
          history: [],
          promised: 0,
          next: 0,
          changing: 'a',
          isMarked: false,
        }
        this.#lists.set(teamList(type, team as TeamId), list)
        for (const id of ids) {
          list.visible.set(id, ++revision)
          await store(team, type, id, revision)
        }
        this.#remember(list)
        await underTest.replica.setPending(teamList(type, team as TeamId), false)
        await underTest.replica.replaceChangeToken(teamList(type, team as TeamId))
      }
  }

  #list(team: Team, type: EntityType): ModelList {
    const list = this.#lists.get(teamList(type, team as TeamId))
    if (list === undefined) throw new Error('no such list')
    return list
  }

  #remember({ visible, history }: ModelList): void {
    ;(history as string[]).push(JSON.stringify([...visible]))
  }

  async step(team: Team, type: EntityType, id: string): Promise<void> {
    const { replica } = underTest
    const [list, name] = [this.#list(team, type), teamList(type, team as TeamId)]
    const step = steps[list.next]
    list.next = (list.next + 1) % steps.length
    switch (step) {
      case 'mark':
        list.changing = list.isMarked ? list.changing : id
        list.isMarked = true
        return await replica.setPending(name, true)
      case 'show':
        list.visible.set(list.changing, ++revision)
        this.#remember(list)
        return await store(team, type, list.changing, revision)
      case 'replace token':
        return await replica.replaceChangeToken(name)
      case 'remove mark':
        list.isMarked = false
        return await replica.setPending(name, false)
      case 'publish watermark':
        list.promised = list.history.length - 1
        return await this.publishWatermark()
      case undefined:
        throw new Error('no such step')
    }
  }

  async publishWatermark(): Promise<void> {
    watermarkMs += 1_000
    await underTest.replica.publishWatermark(toInstant(watermarkMs) as Instant)
  }

  /** An indexer that is killed leaves its marks, and the next one begins again with each change. */
  crash(): void {
    for (const list of this.#lists.values()) list.next = 0
  }

  /** Redis comes back empty; keys are replayed, and indexers begin again. Only then is there a watermark again. */
  async restartRedis(): Promise<void> {
    this.crash()
    for (const list of this.#lists.values()) list.isMarked = false
    redis.kill('SIGKILL')
    await redis.ended()
    await redis.start()
    await eventually(async () => underTest.replica.isConnected())
    await eventually(async () => {
      const problems = await Promise.all(apis.map((api) => api.readiness()))
      return problems.every((each) => each.every((problem) => problem.startsWith('account keys')))
    })
    await underTest.replica.completeAccountKeys()
    await this.publishWatermark()
  }

  /** Reads, and says what is wrong with the answer. */
  async read({ api, team, type, question, encoding, isConditional }: Command & { kind: 'read' }): Promise<void> {
    const list = this.#list(team, type)
    const path = `/api/v1/${type === 'forms' ? 'forms' : 'records'}${question}`
    const name = `${team} ${path}`
    const held = isConditional ? this.#held.get(name) : undefined
    const answer = await ask(apis[api] as TestApi, underTest.keyOf(team), path, encoding, held?.etag)
    if (answer.status === 304) {
      expect(held?.version).toBeGreaterThanOrEqual(list.promised)
      return
    }
    expect(answer.status).toBe(200)
    expect(shownIn(answer.body)).toEqual(expected(team, list.visible, question))
    this.#held.set(name, { etag: answer.etag, version: list.history.length - 1 })
  }
}

async function store(team: Team, type: EntityType, id: string, number: number): Promise<void> {
  const text = `${team} ${number} ${padding}`
  if (type === 'forms')
    await underTest.replica.storeForms({ team, id, revision: number, entity: formEntity({ id, title: text }) })
  else
    await underTest.replica.storeSubmissions({
      team,
      id,
      revision: number,
      entity: submissionEntity({ id, reportUrl: text }),
    })
}

async function ask(api: TestApi, key: string, path: string, encoding: string, etag: string | undefined) {
  const headers = {
    authorization: `Bearer ${key}`,
    'accept-encoding': encoding,
    ...(etag !== undefined && { 'if-none-match': etag }),
  }
  const sent = request({ port: api.port, path, headers, agent: false }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const body = await buffer(answer)
  const decode = {
    identity: (bytes: Buffer) => bytes,
    gzip: gunzipSync,
    br: brotliDecompressSync,
    zstd: zstdDecompressSync,
  }[answer.headers['content-encoding'] ?? 'identity']
  return {
    status: answer.statusCode ?? 0,
    etag: answer.headers.etag ?? '',
    body: decode === undefined ? '' : decode(body).toString(),
  }
}

/** What an answer shows: the ids with team and number of their state, in order, and the total of a page. */
function shownIn(body: string): unknown {
  const answer = JSON.parse(body) as { items?: unknown[]; totalDocs?: number }
  const textOf = (item: unknown): string => /team-\d \d+/.exec(JSON.stringify(item))?.[0] ?? 'nothing'
  const idOf = (item: unknown): string => (item as { id: string }).id
  return answer.items === undefined
    ? [idOf(answer), textOf(answer)]
    : [answer.totalDocs, answer.items.map((item) => [idOf(item), textOf(item)])]
}

function expected(team: Team, visible: ReadonlyMap<string, number>, question: (typeof questions)[number]): unknown {
  const rows = [...visible].toSorted(([a], [b]) => (a < b ? 1 : -1)).map(([id, number]) => [id, `${team} ${number}`])
  switch (question) {
    case '/a':
    case '/b':
      return rows.find(([id]) => `/${id}` === question)
    case '?limit=2':
      return [rows.length, rows.slice(0, 2)]
    case '?limit=2&page=2':
      return [rows.length, rows.slice(2)]
    case '?changedSince=2026-01-01':
      return [rows.length, rows]
  }
}

test('an answer, kept or not, is what Elasticsearch shows at that moment, and 304 holds what the watermark promises', async () => {
  apis.push(await startApi(), await startApi())
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 60, maxLength: 120, size: 'max' }), async (commands) => {
      const model = new Model()
      await model.begin()
      for (const each of commands)
        switch (each.kind) {
          case 'step':
            await model.step(each.team, each.type, ids[each.id] ?? 'a')
            break
          case 'crash':
            model.crash()
            break
          case 'restart API':
            await apis[each.api]?.close()
            apis[each.api] = await startApi()
            break
          case 'restart Redis':
            await model.restartRedis()
            break
          case 'read':
            await model.read(each)
        }
    }),
    { numRuns: 12, endOnFailure: true },
  )
})
