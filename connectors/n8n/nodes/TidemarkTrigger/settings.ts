import type { ITriggerFunctions } from 'n8n-workflow'
import { type Answer, ask, type Query } from '../shared/api.ts'
import { type Condition, conditionsOf, type RowFilters, type View } from './rowFilter.ts'

const waitSeconds = 30
/** The API answers before this time; then the connection is dead. */
const deadlineMs = (waitSeconds + 30) * 1_000

/** What the parameters of the node ask for. */
export type Settings = {
  readonly resource: 'form' | 'submission'
  readonly startsNow: boolean
  /** The parameters to which a cursor belongs. */
  readonly query: Query
  readonly limit: number
  /** What a row must meet. */
  readonly conditions: readonly Condition[]
}

/** Reads the parameters of the node. */
export function readSettings(functions: ITriggerFunctions): Settings {
  const resource = functions.getNodeParameter('resource') as Settings['resource']
  const options = functions.getNodeParameter('options', {}) as {
    readonly fields?: string
    readonly rowsPerExecution?: number
  }
  const view: View = (functions.getNodeParameter('simplify', true) as boolean) ? 'summary' : 'full'
  const filters = functions.getNodeParameter('filters', {}) as RowFilters
  const conditions = resource === 'submission' ? conditionsOf(filters, view) : []
  const fields = (options.fields ?? '').split(',').map((name) => name.trim())
  const named = fields.filter((name) => name !== '')
  const all = [...new Set([...named, ...conditions.map(({ field }) => field)])]
  return {
    resource,
    startsNow: functions.getNodeParameter('startFrom') === 'now',
    query: { view, fields: named.length === 0 ? undefined : all.join(',') },
    limit: options.rowsPerExecution ?? 100,
    conditions,
  }
}

type Asked = { readonly cursor?: string | undefined; readonly waits?: boolean; readonly signal?: AbortSignal }

/** Asks for a page of changes; with `waits`, the answer comes as soon as there is a row, or after half a minute. */
export function askForChanges(
  functions: ITriggerFunctions,
  { resource, query, limit }: Settings,
  { cursor, waits = false, signal }: Asked,
): Promise<Answer> {
  const path = resource === 'form' ? 'form-changes' : 'record-changes'
  return ask(
    functions,
    path,
    { ...query, limit, cursor },
    {
      timeout: deadlineMs,
      ...(waits && { headers: { Prefer: `wait=${waitSeconds}` } }),
      ...(signal && { abortSignal: signal }),
    },
  )
}
