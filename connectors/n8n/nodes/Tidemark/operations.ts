import type { IDataObject, IExecuteFunctions } from 'n8n-workflow'
import { askForObject, type Query } from '../shared/api.ts'
import { exportedRows } from '../shared/exportedRows.ts'
import { type Filters, formIdOf, queryOf } from '../shared/filters.ts'

export type Resource = 'form' | 'submission'

const paths = { form: 'forms', submission: 'records' } as const

/** The most rows of a page. */
const largestPage = 100

/** What a simplified single form or submission has: the fields of a list. */
const simpleFields = {
  form: 'id,title,scene,language,publicToken,shareUrl,localization,isActive,createdAt,updatedAt',
  submission:
    'id,serialNumber,formId,shareToken,reportUrl,submittedAt,updatedAt,examinee,metadata,data,reportResult.status,reportResult.overallAnalysis,reportResult.outcome',
} as const

const fieldsOf = (functions: IExecuteFunctions, index: number): string | undefined => {
  const fields = String(functions.getNodeParameter('fields', index, ''))
    .replace(/\s*,\s*/g, ',')
    .trim()
  return fields === '' ? undefined : fields
}

/** One form or submission, by the ID in the parameters. */
export async function getOne(functions: IExecuteFunctions, resource: Resource, index: number): Promise<IDataObject> {
  const id =
    resource === 'form'
      ? formIdOf(functions.getNodeParameter('formId', index) as Filters['formId'])
      : String(functions.getNodeParameter('submissionId', index))
  const isSimple = functions.getNodeParameter('simplify', index, true) as boolean
  const fields = fieldsOf(functions, index) ?? (isSimple ? simpleFields[resource] : undefined)
  return await askForObject(functions, `${paths[resource]}/${encodeURIComponent(id ?? '')}`, { fields })
}

/** Forms or submissions, newest first: a page where one is enough, else an export, which is one snapshot. */
export async function getMany(functions: IExecuteFunctions, resource: Resource, index: number): Promise<IDataObject[]> {
  const returnsAll = functions.getNodeParameter('returnAll', index, false) as boolean
  const limit = returnsAll ? Number.POSITIVE_INFINITY : (functions.getNodeParameter('limit', index, 50) as number)
  const isSimple = functions.getNodeParameter('simplify', index, true) as boolean
  const filters = functions.getNodeParameter('filters', index, {}) as Filters
  const query: Query = { ...queryOf(filters), fields: fieldsOf(functions, index) }
  if (isSimple && limit <= largestPage) {
    const { items } = await askForObject(functions, paths[resource], { ...query, limit })
    return items as IDataObject[]
  }
  return await exportedRows(functions, paths[resource], { ...query, view: isSimple ? undefined : 'full' }, limit)
}

/** Counts of submissions: an item for each, or the answer as it is. */
export async function count(functions: IExecuteFunctions, index: number): Promise<IDataObject[]> {
  const units = ['time', 'value'].map((name) => functions.getNodeParameter(name, index) as string)
  const by = units.filter((unit) => unit !== 'none').join(',')
  const filters = functions.getNodeParameter('filters', index, {}) as Filters
  const options = functions.getNodeParameter('options', index, {}) as Query
  const query: Record<string, Query[string]> = { by, ...queryOf(filters), ...options }
  if (units.includes('answer')) query['code'] = functions.getNodeParameter('code', index) as string
  const answer = await askForObject(functions, 'record-counts', query)
  const isSimple = functions.getNodeParameter('simplify', index, true) as boolean
  return isSimple ? (answer['items'] as IDataObject[]) : [answer]
}
