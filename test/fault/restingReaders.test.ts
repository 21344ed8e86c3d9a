import { exportList } from '../../src/api/search/exportRows.ts'
import { createIndexReader } from '../../src/api/search/indexReader.ts'
import { openListSnapshot } from '../../src/api/search/listSnapshot.ts'
import { openSearchClient } from '../../src/api/search/searchClient.ts'
import { connectElasticsearch } from '../../src/core/elasticsearch/elasticsearch.ts'
import type { TeamId } from '../../src/core/model/ids.ts'
import { submissionAt } from '../abuse/largeRows.ts'
import { testConfig } from '../support/config.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { createTestReplica } from '../support/replica.ts'

const lifeMs = 4_000
const { signal } = new AbortController()

/** An Elasticsearch that ends points in time when they expire, not only once a minute. */
useStarted('Elasticsearch', () =>
  startOwnEngines(['elasticsearch'], {
    adapt: (definition) => ({
      ...definition,
      prepare: async (port, until) => {
        const command = await definition.prepare(port, until)
        return { ...command, args: [...command.args, '-Esearch.keep_alive_interval=100ms'] }
      },
    }),
  }),
)
const replica = useStarted('the replica', createTestReplica)
const elasticsearch = useStarted('the client', () => connectElasticsearch(testConfig({})))

const rows = Array.from({ length: 4 }, (_, at) => submissionAt(at, { data: { q: 'x'.repeat(600_000) } }))

test.each(['summary', 'full'] as const)(
  'an export of large rows (%s) is completed for a client that pauses for longer than the keep-alive of its snapshot',
  async (view) => {
    const team = view as string as TeamId
    await replica.storeSubmissions(...rows.map((entity) => ({ team, id: entity.id, entity })))
    const reader = createIndexReader(openSearchClient(elasticsearch, replica.prefix, true), 1_000)
    const list = { ...reader, type: 'submissions' as const, teamId: team, indices: undefined }
    const content = { filters: [[]] as const, view, pick: (row: Buffer) => row }
    const found: string[] = []
    for await (const part of exportList(list, content, (send) => send(signal), lifeMs)) {
      for (const row of part) found.push((JSON.parse(row.toString()) as { id: string }).id)
      if (found.length > 1) continue
      await openListSnapshot(list, lifeMs)
      await eventually(async () => (await replica.openContexts()) === 2)
      await eventually(async () => (await replica.openContexts()) < 2)
    }
    expect(found).toEqual(rows.map(({ id }) => id).toReversed())
    await eventually(async () => (await replica.openContexts()) === 0)
  },
)
