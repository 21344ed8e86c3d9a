import { rawMembers, renderObject } from '../../core/json/rawJson.ts'
import type { TeamId } from '../../core/model/ids.ts'
import { readDetail } from './readDetail.ts'
import type { SearchClient } from './searchClient.ts'

export type FormParts = { readonly includeFields: boolean; readonly includeReport: boolean }

/** A form as raw JSON, without the parts that are not wanted; undefined when the team has no such form. */
export async function getForm(
  replica: SearchClient,
  teamId: TeamId,
  id: string,
  { includeFields, includeReport }: FormParts,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const form = await readDetail(replica, 'form-details', teamId, id, signal)
  if (form === undefined || (includeFields && includeReport)) return form
  const unwanted = new Set([...(includeFields ? [] : ['fields']), ...(includeReport ? [] : ['report'])])
  return Buffer.from(renderObject([...rawMembers(form.toString())].filter(([name]) => !unwanted.has(name))))
}
