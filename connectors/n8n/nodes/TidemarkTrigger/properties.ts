import type { INodeProperties } from 'n8n-workflow'
import { formLocator, statuses } from '../shared/filters.ts'

export const properties: INodeProperties[] = [
  {
    displayName:
      'What is new or changed leaves by the first output, what is deleted by the second. After a restart of n8n, the last execution may come once more: for one message each, put the node "Remove Duplicates" behind.',
    name: 'notice',
    type: 'notice',
    default: '',
  },
  {
    // By this name the list of nodes offers an entry for each option.
    displayName: 'Trigger On',
    name: 'resource',
    type: 'options',
    noDataExpression: true,
    options: [
      { name: 'Submission', value: 'submission', action: 'On new, changed or deleted submission' },
      { name: 'Form', value: 'form', action: 'On new, changed or deleted form' },
    ],
    default: 'submission',
    description: 'What is watched: an item comes when it is new, changed or deleted',
  },
  {
    displayName: 'Start From',
    name: 'startFrom',
    type: 'options',
    options: [
      { name: 'Beginning', value: 'beginning', description: 'Everything that exists comes first, once each' },
      { name: 'Now', value: 'now', description: 'Only what changes after the first activation' },
    ],
    default: 'now',
    description: 'Where the first activation starts. Later ones go on where the last one has ended.',
  },
  {
    displayName: 'Filters',
    name: 'filters',
    type: 'collection',
    placeholder: 'Add Filter',
    default: {},
    displayOptions: { show: { resource: ['submission'] } },
    description: 'What must hold, all of it. Deletions name only the ID: they come from all submissions of the team.',
    options: [
      { ...formLocator, name: 'formId' },
      {
        displayName: 'Level',
        name: 'level',
        type: 'string',
        default: '',
        placeholder: 'fail',
        description:
          'The level of the result, as the quiz names it. "Execute step" tells which levels there are if none has this one.',
      },
      {
        displayName: 'Outcome Code',
        name: 'outcomeCode',
        type: 'string',
        default: '',
        description: 'The code of the outcome',
      },
      {
        displayName: 'Status',
        name: 'status',
        type: 'multiOptions',
        options: statuses,
        default: ['completed'],
        description: 'The state of the report; any of them',
      },
    ],
  },
  {
    displayName: 'Simplify',
    name: 'simplify',
    type: 'boolean',
    default: true,
    description: 'Whether to return a simplified version of the response instead of the raw data',
  },
  {
    displayName: 'Options',
    name: 'options',
    type: 'collection',
    placeholder: 'Add Option',
    default: {},
    options: [
      {
        displayName: 'Fields',
        name: 'fields',
        type: 'string',
        default: '',
        placeholder: 'submittedAt,examinee.email,result.score',
        description:
          'The fields to return, with a dot before the name of a nested one and commas between. Those that filters need come along.',
      },
      {
        displayName: 'Rows per Execution',
        name: 'rowsPerExecution',
        type: 'number',
        typeOptions: { minValue: 1, maxValue: 1000 },
        default: 100,
        description: 'The most rows that one execution gets. Executions run one after the other.',
      },
    ],
  },
]
