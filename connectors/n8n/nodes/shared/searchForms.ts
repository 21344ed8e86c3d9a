import type { IDataObject, ILoadOptionsFunctions, INodeListSearchResult } from 'n8n-workflow'
import { askForObject } from './api.ts'

const limit = 50

/** Forms whose title contains what was typed, newest first, for the editor. */
export async function searchForms(
  this: ILoadOptionsFunctions,
  filter?: string,
  paginationToken?: string,
): Promise<INodeListSearchResult> {
  const page = Number(paginationToken ?? 1)
  const query = { limit, page, fields: 'id,title', titleContains: filter ?? '' }
  const { items, totalDocs } = await askForObject(this, 'forms', query)
  const results = (items as IDataObject[]).map(({ id, title }) => ({ name: String(title), value: String(id) }))
  return page * limit < Number(totalDocs) ? { results, paginationToken: String(page + 1) } : { results }
}
