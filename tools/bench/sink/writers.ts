import { join } from 'node:path'
import { aliasOf } from '../../../src/core/elasticsearch/indices.ts'
import { startService } from '../../demo/services.ts'
import { signalGroup } from '../../engines/runningProcess.ts'
import { type ConnectSink, startConnectSink } from '../alternatives/connectSink.ts'
import { type Program, untilReleased } from '../program.ts'
import type { Stage } from '../stage.ts'

/** `name` names what the run writes: an index, or the prefix of indices. */
export type Run = { readonly name: string; readonly topic: string }
export type Running = Program & {
  /** With SIGKILL. */
  kill(): Promise<void>
}
/** Tidemark's indexer, or the sink. */
export type Writer = {
  readonly name: string
  /** The index or alias with one document of each submission, whose id is the record's key. */
  readonly index: (run: Run) => string
  /** Further indices or aliases with as many documents. */
  readonly others: (run: Run) => readonly string[]
  prepare(run: Run): Promise<void>
  start(run: Run): Promise<Running>
}

export function tidemark({ environment, logsFolder, signal, release }: Stage, elasticsearchUrl: string): Writer {
  return {
    name: 'Tidemark',
    index: ({ name }) => aliasOf(name, 'submissions'),
    others: ({ name }) => [aliasOf(name, 'submission-details')],
    prepare: async () => undefined,
    start: async ({ name, topic }) => {
      const own = { INDEX_PREFIX: name, CONSUMER_GROUP: name, TOPIC_SUBMISSIONS: topic }
      const settings = { ...environment, ...own, ELASTICSEARCH_URL: elasticsearchUrl }
      const options = { environment: settings, logsFolder: join(logsFolder, name), signal }
      return killable(untilReleased(await startService('indexer', options), release))
    },
  }
}

export const sink = (stage: Stage, built: ConnectSink, elasticsearchUrl: string): Writer => ({
  name: 'Kafka Connect',
  index: ({ name }) => name,
  others: () => [],
  prepare: async ({ name }) => {
    await stage.client.indices.create({ index: name, settings, mappings }, { signal: stage.signal })
  },
  start: async ({ name, topic }) => killable(await startConnectSink(built, { name, topic, elasticsearchUrl }, stage)),
})

const settings = { number_of_replicas: 0, refresh_interval: '1s' }
/** Fewer search keys than Tidemark's. The mapping that Elasticsearch would choose by itself refuses some submissions. */
const mappings = {
  dynamic: false,
  properties: {
    id: { type: 'keyword' },
    formId: { type: 'keyword' },
    submittedAt: { type: 'date' },
    updatedAt: { type: 'date' },
    result: { properties: { status: { type: 'keyword' } } },
  },
} as const

const killable = (program: Program): Running => ({
  ...program,
  kill: async () => {
    signalGroup(program.pid, 'SIGKILL')
    await program.stop()
  },
})
