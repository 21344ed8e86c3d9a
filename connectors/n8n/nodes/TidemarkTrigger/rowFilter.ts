import type { IDataObject, INodeParameterResourceLocator } from 'n8n-workflow'
import { formIdOf } from '../shared/filters.ts'
import type { Row } from './changeFeed.ts'

/** Filters of the trigger, as n8n hands them over. */
export type RowFilters = {
  readonly formId?: INodeParameterResourceLocator | string
  readonly status?: readonly string[]
  readonly level?: string
  readonly outcomeCode?: string
}

/** Where a submission has what a filter compares: in a summary, and in the full view. */
const places = {
  formId: { summary: 'formId', full: 'formId' },
  status: { summary: 'result.status', full: 'reportResult.status' },
  level: { summary: 'result.level', full: 'reportResult.overallAnalysis.level' },
  outcomeCode: { summary: 'result.outcomeCode', full: 'reportResult.outcome.code' },
} as const

export type View = 'summary' | 'full'

export type Condition = { readonly field: string; readonly values: readonly string[] }

/** What the filters ask for: each field must have one of the values. A filter without a value asks for nothing. */
export function conditionsOf({ formId, status, level, outcomeCode }: RowFilters, view: View): readonly Condition[] {
  const values: Record<keyof typeof places, ReadonlyArray<string | undefined>> = {
    formId: [formIdOf(formId)],
    status: status ?? [],
    level: [level],
    outcomeCode: [outcomeCode],
  }
  const wanted = Object.entries(values).map(([name, each]) => ({
    field: places[name as keyof typeof places][view],
    values: each.filter((value): value is string => value !== undefined && value !== ''),
  }))
  return wanted.filter(({ values: each }) => each.length > 0)
}

/** Whether a row meets all conditions. A deletion names the ID only, so it meets any. */
export const meets = (row: Row, conditions: readonly Condition[]): boolean =>
  row.deleted || conditions.every(({ field, values }) => values.includes(String(valueAt(row, field))))

const toldValues = 10

/** What rows have where conditions compare, up to ten values for each: `result.level: Expert, Beginner`. */
export function valuesIn(rows: readonly Row[], conditions: readonly Condition[]): string {
  const told = conditions.map(({ field }) => {
    const values = [...new Set(rows.map((row) => String(valueAt(row, field) ?? '(none)')))]
    return `${field}: ${values.slice(0, toldValues).join(', ')}${values.length > toldValues ? ', …' : ''}`
  })
  return told.join('; ')
}

function valueAt(row: IDataObject, field: string): unknown {
  let value: unknown = row
  for (const name of field.split('.')) value = (value as IDataObject | null | undefined)?.[name]
  return value
}
