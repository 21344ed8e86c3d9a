import type { Logger } from 'pino'
import { summaryOf } from '../../src/core/process/log.ts'
import type { Engines } from '../../src/core/stores/engines.ts'
import type { FromWorker, ToWorker } from './rebuildMessages.ts'
import { type RebuildPipeline, startRebuildPipeline } from './rebuildPipeline.ts'

const progressMs = 250

type ReaderDeps = {
  readonly engines: Engines
  readonly log: Logger
  /** Tells the rebuild. */
  tell(message: FromWorker): void
  /** Ends the process. */
  exit(): void
}

/** Reads for a rebuild, as its messages say; returns what takes them. */
export function rebuildReader({ engines, log, tell, exit }: ReaderDeps): (message: ToWorker) => void {
  let pipeline: RebuildPipeline | undefined
  let isPublishing = false
  const fail = (error: unknown): void => tell({ kind: 'failed', reason: summaryOf(error) })
  const tellProgress = (): void => {
    if (pipeline !== undefined) tell({ kind: 'progress', ...pipeline.progress() })
  }
  const publish = async (): Promise<void> => {
    if (isPublishing) return
    isPublishing = true
    // The pipeline repeats a failed round and has its error among the blocked reasons.
    await pipeline?.publish().catch(() => undefined)
    isPublishing = false
    tellProgress()
  }
  const take = async (message: ToWorker): Promise<void> => {
    switch (message.kind) {
      case 'start':
        pipeline = startRebuildPipeline({ ...message, engines, log, fail })
        setInterval(tellProgress, progressMs)
        return
      case 'start-changes':
        pipeline?.startChangesAt(message.watermarkMs)
        tell({ kind: 'changes-started' })
        return
      case 'publish':
        await publish()
        return
      case 'stop':
        await pipeline?.stop()
        exit()
    }
  }
  return (message) => {
    take(message).catch(fail)
  }
}
