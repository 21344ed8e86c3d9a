import {
  type INodeType,
  type INodeTypeDescription,
  type ITriggerFunctions,
  type ITriggerResponse,
  NodeConnectionTypes,
} from 'n8n-workflow'
import { searchForms } from '../shared/searchForms.ts'
import { emitSample } from './emitSample.ts'
import { properties } from './properties.ts'
import { readSettings } from './settings.ts'
import { startFollowing } from './startFollowing.ts'

export class TidemarkTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Tidemark Trigger',
    name: 'tidemarkTrigger',
    icon: { light: 'file:../../icons/tidemark.svg', dark: 'file:../../icons/tidemark.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{ $parameter["resource"] }}',
    description: 'Starts the workflow when a form or submission of a quiz platform is new, changed or deleted',
    defaults: { name: 'Tidemark Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main, NodeConnectionTypes.Main],
    // The canvas shows ten letters of a name.
    outputNames: ['Changed', 'Deleted'],
    credentials: [{ name: 'tidemarkApi', required: true }],
    properties,
  }

  methods = { listSearch: { searchForms } }

  async trigger(this: ITriggerFunctions): Promise<ITriggerResponse> {
    const settings = readSettings(this)
    if (this.getMode() === 'manual') return emitSample(this, settings)
    return await startFollowing(this, settings)
  }
}
