import { type ITriggerFunctions, type ITriggerResponse, NodeOperationError } from 'n8n-workflow'
import { refusal, unreachable } from '../shared/api.ts'
import { type Row, readAnswer } from './changeFeed.ts'
import { itemsOf } from './items.ts'
import { meets, valuesIn } from './rowFilter.ts'
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
    const { conditions } = settings
    // A deletion meets any filter, and has nothing to show.
    const rows = read.page.items.filter(({ deleted }) => !deleted)
    const sample = rows.findLast((row) => meets(row, conditions))
    if (sample === undefined) {
      const { message, description } = whyNone(settings, rows)
      throw new NodeOperationError(functions.getNode(), message, { description })
    }
    functions.emit(itemsOf([sample]))
  }
  return { manualTriggerFunction }
}

/** Tells a person who does not know how the quizzes name their levels what there is instead. */
function whyNone({ resource, conditions }: Settings, rows: readonly Row[]): { message: string; description: string } {
  if (rows.length === 0)
    return { message: `There is no ${resource} yet`, description: 'A published workflow waits for the first one.' }
  const message = `None of ${rows.length} ${resource}s passes the filters`
  return {
    message,
    description: `They have ${valuesIn(rows, conditions)}. A published workflow waits for one that passes.`,
  }
}
