import { destination } from 'pino'
import { createLog } from '../../src/core/process/log.ts'
import { configuredEngines } from '../../src/core/stores/engines.ts'
import type { ToWorker } from './rebuildMessages.ts'
import { rebuildReader } from './rebuildReader.ts'

// A process that reads for a rebuild: `forkWorker.ts` starts it. It ends with its parent.

const take = rebuildReader({
  engines: configuredEngines,
  log: createLog({ name: 'rebuild', level: 'error' }, destination({ fd: 2, sync: true })),
  // Whoever cannot be told any more is gone, which the event `disconnect` says as well.
  tell: (message) => process.send?.(message, undefined, undefined, () => undefined),
  exit: () => process.exit(),
})

// Ctrl-C reaches every process of the terminal; the parent says when to stop.
process.on('SIGINT', () => undefined)
process.once('disconnect', () => process.exit())
process.on('message', (message: ToWorker) => take(message))
