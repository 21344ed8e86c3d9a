import { destination } from 'pino'
import { createLog, summaryOf } from '../../src/core/process/log.ts'
import type { FromWorker, ToWorker } from './rebuildMessages.ts'
import { type RebuildPipeline, startRebuildPipeline } from './rebuildPipeline.ts'

// A process that reads for a rebuild: `rebuildWorkers.ts` starts it and tells it what to do. It ends with its parent.

const progressMs = 250

let pipeline: RebuildPipeline | undefined
let isPublishing = false

// Ctrl-C reaches every process of the terminal; the parent says when to stop.
process.on('SIGINT', () => undefined)
process.once('disconnect', () => process.exit())
process.on('message', (message: ToWorker) => {
  take(message).catch(fail)
})

async function take(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'start':
      pipeline = startRebuildPipeline({
        ...message,
        log: createLog({ name: 'rebuild', level: 'error' }, stderr()),
        fail,
      })
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
      process.exit()
  }
}

async function publish(): Promise<void> {
  if (isPublishing) return
  isPublishing = true
  // The pipeline repeats a failed round and has its error among the blocked reasons.
  await pipeline?.publish().catch(() => undefined)
  isPublishing = false
  tellProgress()
}

const stderr = () => destination({ fd: 2, sync: true })

function tellProgress(): void {
  if (pipeline !== undefined) tell({ kind: 'progress', ...pipeline.progress() })
}

function fail(error: unknown): void {
  tell({ kind: 'failed', reason: summaryOf(error) })
}

/** Whoever cannot be told any more is gone, which the event `disconnect` says as well. */
function tell(message: FromWorker): void {
  process.send?.(message, undefined, undefined, () => undefined)
}
