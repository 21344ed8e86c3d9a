import {
  type IRun,
  type ITriggerFunctions,
  type ITriggerResponse,
  NodeApiError,
  NodeOperationError,
  sleep,
} from 'n8n-workflow'
import { refusal, unreachable } from '../shared/api.ts'
import { type Read, type Row, readAnswer } from './changeFeed.ts'
import { follow, type Surroundings } from './follow.ts'
import { itemsOf } from './items.ts'
import { anew, lastReached, noteReached, type Position } from './position.ts'
import { meets } from './rowFilter.ts'
import { askForChanges, type Settings } from './settings.ts'

/**
 * Follows the changes until n8n deactivates the workflow. Throws what keeps it from starting: a refused key or parameter, or no answer to the first
 * activation, which has to know from where on changes are new.
 */
export async function startFollowing(functions: ITriggerFunctions, settings: Settings): Promise<ITriggerResponse> {
  const ending = new AbortController()
  const surroundings = surroundingsOf(functions, settings, ending.signal)
  const start = await startOf(functions, settings, surroundings)
  surroundings.reached(start)
  const following = follow(start, surroundings)
    .then(({ answer }) => functions.emitError(refusal(functions, answer)))
    .catch((error: Error) => {
      if (!ending.signal.aborted) functions.emitError(error)
    })
  const closeFunction = async (): Promise<void> => {
    ending.abort()
    await following
  }
  return { closeFunction }
}

const nodeKey = (functions: ITriggerFunctions): string => `${functions.getWorkflow().id}/${functions.getNode().id}`

/** Where this activation begins. Asks the API once in any case, so that a refused key or parameter is shown in the editor. */
async function startOf(
  functions: ITriggerFunctions,
  settings: Settings,
  surroundings: Surroundings,
): Promise<Position> {
  const { resource, startsNow } = settings
  const query = JSON.stringify(settings.query)
  const last = lastReached(nodeKey(functions), functions.getWorkflowStaticData('node'))
  const known = last?.resource === resource ? last : undefined
  const now = await surroundings.read('latest', false)
  if (now.kind === 'refused') throw refusal(functions, now.answer)
  if (known?.query === query) return known
  if (known !== undefined) {
    surroundings.reportLoss('the parameters of the node have changed, and with them the rows', known)
    return anew({ ...known, query })
  }
  if (!startsNow) return { resource, query }
  if (now.kind !== 'page') throw new NodeApiError(functions.getNode(), { message: now.why })
  return { resource, query, cursor: now.page.cursor, readUntil: now.page.watermark }
}

function surroundingsOf(functions: ITriggerFunctions, settings: Settings, signal: AbortSignal): Surroundings {
  const unlessDeactivated = untilAbort(signal)
  const read: Surroundings['read'] = async (cursor, waits): Promise<Read> => {
    try {
      const answer = await askForChanges(functions, settings, { cursor, waits, signal })
      return readAnswer(answer, cursor !== undefined, Date.now())
    } catch (error) {
      if (signal.aborted) throw new NodeOperationError(functions.getNode(), 'deactivated')
      return { kind: 'later', why: unreachable(functions, error as Error).message, waitMs: undefined }
    }
  }
  return {
    read,
    run: (rows) => {
      const wanted = rows.filter((row) => meets(row, settings.conditions))
      return unlessDeactivated(runExecution(functions, wanted))
    },
    reached: (position) =>
      noteReached(nodeKey(functions), functions.getWorkflowStaticData('node'), { position, atMs: Date.now() }),
    reportLoss: (why, position) => functions.saveFailedExecution(loss(functions, why, position)),
    warn: (message) => functions.logger.warn(message),
    sleep: (ms) => unlessDeactivated(sleep(ms)),
  }
}

/** Lets a promise be waited for until the workflow is deactivated; then rejects at once. */
function untilAbort(signal: AbortSignal): <Value>(promise: Promise<Value>) => Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason))
  // Nothing may be waiting when it comes.
  aborted.catch(() => undefined)
  return (promise) => Promise.race([promise, aborted])
}

/** Runs the workflow with rows; resolves when the execution has ended, with false if n8n could not start it. */
async function runExecution(functions: ITriggerFunctions, rows: readonly Row[]): Promise<boolean> {
  if (rows.length === 0) return true
  const done = functions.helpers.createDeferredPromise<IRun>()
  functions.emit(itemsOf(rows), undefined, done)
  return await done.promise.then(
    () => true,
    () => false,
  )
}

function loss(functions: ITriggerFunctions, why: string, { readUntil, resource }: Position): NodeOperationError {
  const since = readUntil === undefined ? 'all of them come' : `what has changed since ${readUntil} comes`
  return new NodeOperationError(functions.getNode(), `The place in the changes is lost: ${why}`, {
    description: `Now every ${resource} is read anew, and ${since}, some for the second time. Deletions meanwhile may be missing.`,
  })
}
