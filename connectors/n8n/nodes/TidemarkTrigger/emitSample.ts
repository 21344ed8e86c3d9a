import { type ITriggerFunctions, type ITriggerResponse, NodeOperationError } from 'n8n-workflow'
import { refusal, unreachable } from '../shared/api.ts'
import { readAnswer } from './changeFeed.ts'
import { itemsOf } from './items.ts'
import { askForChanges, type Settings } from './settings.ts'

const searched = 1_000

/** For a test in the editor: emits one row that the filters let through, without waiting for a change. */
export function emitSample(functions: ITriggerFunctions, settings: Settings): ITriggerResponse {
  const manualTriggerFunction = async (): Promise<void> => {
    const answer = await askForChanges(functions, { ...settings, limit: searched }, {}).catch((error: Error) => {
      throw unreachable(functions, error)
    })
    const read = readAnswer(answer, false, Date.now())
    if (read.kind !== 'page') throw refusal(functions, answer)
    const sample = read.page.items.findLast((row) => settings.isWanted(row))
    if (sample === undefined) {
      const message = `None of the first ${searched} rows passes the filters`
      const description = 'There is nothing to show as a sample. An active workflow waits for the first one.'
      throw new NodeOperationError(functions.getNode(), message, { description })
    }
    functions.emit(itemsOf([sample]))
  }
  return { manualTriggerFunction }
}
