import {
  type IDataObject,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes,
} from 'n8n-workflow'
import { searchForms } from '../shared/searchForms.ts'
import { count, getMany, getOne, type Resource } from './operations.ts'
import { properties } from './properties.ts'

export class Tidemark implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Tidemark',
    name: 'tidemark',
    icon: { light: 'file:../../icons/tidemark.svg', dark: 'file:../../icons/tidemark.dark.svg' },
    group: ['input'],
    version: 1,
    subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
    description: 'Read forms and submissions of a quiz platform, and count submissions',
    defaults: { name: 'Tidemark' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials: [{ name: 'tidemarkApi', required: true }],
    properties,
  }

  methods = { listSearch: { searchForms } }

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const results: INodeExecutionData[] = []
    for (const index of this.getInputData().keys()) {
      try {
        for (const json of await rowsFor(this, index)) results.push({ json, pairedItem: { item: index } })
      } catch (error) {
        if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: index })
        results.push({ json: { error: (error as Error).message }, pairedItem: { item: index } })
      }
    }
    return [results]
  }
}

async function rowsFor(functions: IExecuteFunctions, index: number): Promise<IDataObject[]> {
  const resource = functions.getNodeParameter('resource', index) as Resource
  const operation = functions.getNodeParameter('operation', index) as 'count' | 'get' | 'getAll'
  if (operation === 'count') return await count(functions, index)
  if (operation === 'get') return [await getOne(functions, resource, index)]
  return await getMany(functions, resource, index)
}
