import { answersWith, jsonAnswer, refusesWith } from '../support/elasticsearchFaults.ts'
import { type FaultyPipeline, type Outage, openFaultyPipeline } from '../support/faultyPipeline.ts'

/** What the indexer misreads is lost for good, so each answer has an indexer of its own. */
describe('Elasticsearch says in words that are easily misread that nothing was done, and nothing is lost:', () => {
  let faulty: FaultyPipeline
  beforeEach(async () => {
    faulty = await openFaultyPipeline()
  })
  afterEach(() => faulty.close())

  /** The indexer tells of it, or has taken it for an answer to every record. */
  const toldOrTaken = ({ lift }: Outage, told: RegExp): Outage => ({
    met: async () => Number(told.test(await faulty.unreadiness()) || (await faulty.observer.isAllCommitted())),
    lift,
  })

  test('a refresh reaches no shard, and none has failed', async () => {
    const unreached = answersWith(jsonAnswer(200, { _shards: { total: 8, successful: 0, failed: 0 } }))
    await faulty.survives(() => toldOrTaken(faulty.elasticsearch.inject('/_refresh', unreached), /refresh/), { met: 1 })
  })

  test('every write is answered 400, whatever the documents', async () => {
    const refusal = refusesWith(400, 'media_type_header_exception')
    await faulty.survives(() => toldOrTaken(faulty.elasticsearch.inject('/_bulk', refusal), /400/), { met: 1 })
  })
})
