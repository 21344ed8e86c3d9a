import type { INodeExecutionData } from 'n8n-workflow'
import type { Row } from './changeFeed.ts'

/** Rows as items of the two outputs: new or changed, and deleted. */
export function itemsOf(rows: readonly Row[]): INodeExecutionData[][] {
  const outputs: INodeExecutionData[][] = [[], []]
  for (const json of rows) outputs[json.deleted ? 1 : 0]?.push({ json })
  return outputs
}
