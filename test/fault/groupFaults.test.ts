import { type ConsistencyChecker, checkerTeam, startConsistencyChecker } from '../model/live.ts'
import { eventually } from '../support/eventually.ts'
import { expectWhole, smallHistory, untilCaughtUp, untilCommitted, withAdmin } from '../support/faults.ts'
import { type Program, startProgram, untilReady } from '../support/programs.ts'
import type { History } from '../support/randomHistory.ts'
import { type Relay, startRelay } from '../support/relay.ts'
import { usePipeline } from '../support/usePipeline.ts'

const sessionMs = 10_000

describe('Indexers of one consumer group stall', () => {
  const pipeline = usePipeline({ forEachTest: true })
  let relay: Relay
  let first: Program
  let api: Program
  let checker: ConsistencyChecker
  const history: History = smallHistory(31, 1_200)
  let produced = 0

  beforeEach(async () => {
    produced = 0
    const { hostname, port } = new URL(process.env['ELASTICSEARCH_URL'] ?? '')
    relay = await startRelay(hostname, Number(port))
    const ELASTICSEARCH_URL = `http://127.0.0.1:${relay.port}`
    first = await startProgram('indexer', { ...pipeline.names, ELASTICSEARCH_URL })
    await untilReady(first)
    await pipeline.createKeys([...history.teams, checkerTeam])
    api = await pipeline.startApi()
    await pipeline.untilApplied(api, checkerTeam)
    checker = await startConsistencyChecker(pipeline, api)
  })
  afterEach(async () => {
    await checker.stop()
    await relay.close()
  })

  const produceMore = async (count: number): Promise<void> => {
    await pipeline.produceHistory(history.records.slice(produced, produced + count))
    produced += count
  }
  const membersOf = async (): Promise<string[]> => {
    const { groups } = await withAdmin(pipeline.kafka, (admin) =>
      admin.describeGroups([pipeline.names['CONSUMER_GROUP'] ?? '']),
    )
    return groups.flatMap(({ members }) => members.map(({ memberId }) => memberId))
  }
  const expectAllKept = async (): Promise<void> => {
    await expectWhole(pipeline, api, { ...history, records: history.records.slice(0, produced) })
    await checker.stop()
    await untilCommitted(pipeline)
    expect(checker.problems()).toEqual([])
    expect(Math.min(...Object.values(checker.checks()))).toBeGreaterThan(5)
  }

  test('an indexer that was paused for longer than its session timeout resumes, and spoils no partition that another has taken over', async () => {
    await produceMore(200)
    process.kill(first.pid, 'SIGSTOP')
    await produceMore(200)
    // It is let in when the session of the sleeping one is over.
    const second = await pipeline.startIndexer()
    await untilCaughtUp(pipeline, api, checkerTeam)
    await produceMore(200)
    process.kill(first.pid, 'SIGCONT')
    await produceMore(200)
    await eventually(async () => (await membersOf()).length === 2)
    await untilReady(first)
    await produceMore(200)
    await second.end('SIGKILL')
    await produceMore(200)
    await expectAllKept()
  })

  test('an indexer that waits for a slow Elasticsearch stays a member while another joins, and its writes arrive', async () => {
    await produceMore(300)
    relay.hold()
    await produceMore(300)
    await eventually(async () => (await first.metric('tidemark_in_flight_bytes')) > 0)
    const second = await startProgram('indexer', pipeline.names)
    await eventually(() => second.log().includes('joined the group'))
    const members = await membersOf()
    expect(members).toHaveLength(2)
    await produceMore(300)
    // A member that keeps no heartbeat is only thrown out when its session has run out.
    const outlivedAtMs = Date.now() + sessionMs + 2_000
    await eventually(() => Date.now() > outlivedAtMs)
    expect((await membersOf()).sort()).toEqual(members.sort())
    expect(first.log()).not.toMatch(/session|UNKNOWN_MEMBER_ID|not aware of this member/i)
    relay.release()
    await produceMore(300)
    await expectAllKept()
  })
})
