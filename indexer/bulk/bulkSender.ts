import type { Client } from '@elastic/elasticsearch'
import type { DocumentWrite } from '../../src/core/stores/documents.ts'
import type { PipelineMetrics } from '../metrics.ts'
import { bulkChannel } from '../recordChannels.ts'
import { encodeBulk, type Indices, readStored, sendBulk } from './bulkApi.ts'
import type { ItemOutcome } from './bulkFailure.ts'
import type { Stored } from './job.ts'

const timeoutMs = 60_000

type SenderOptions = {
  readonly elasticsearch: Client
  readonly indices: Indices
  readonly metrics: PipelineMetrics
  readonly signal: AbortSignal
  /** Resolves once readers know of the writes that are about to be sent. */
  mark(): Promise<void>
}

/** The calls that a pipeline's bulk writer makes, measured and traced. */
export function bulkSender({ elasticsearch, indices, metrics, signal, mark }: SenderOptions) {
  const access = { timeoutMs, signal }
  return {
    send: async (documents: readonly DocumentWrite[]): Promise<ItemOutcome[]> => {
      const body = encodeBulk(indices, documents)
      metrics.bulkBytes.observe(body.length)
      await mark()
      const stop = metrics.bulkSeconds.startTimer()
      const send = (): Promise<ItemOutcome[]> => sendBulk(elasticsearch, body, documents, access).finally(stop)
      const outcomes = await bulkChannel.tracePromise(send, { documents, bytes: body.length })
      metrics.countItems(outcomes)
      return outcomes
    },
    readStored: (records: readonly (readonly DocumentWrite[])[]): Promise<(Stored | undefined)[]> =>
      readStored(elasticsearch, indices, records, access),
  }
}
