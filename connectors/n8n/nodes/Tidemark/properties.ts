import type { INodeProperties } from 'n8n-workflow'
import { formFilters, formLocator, submissionFilters } from '../shared/filters.ts'

const shownFor = (resource: string, operations: readonly string[]): Pick<INodeProperties, 'displayOptions'> => ({
  displayOptions: { show: { resource: [resource], operation: [...operations] } },
})

const operations = (resource: string, options: NonNullable<INodeProperties['options']>): INodeProperties => ({
  displayName: 'Operation',
  name: 'operation',
  type: 'options',
  noDataExpression: true,
  displayOptions: { show: { resource: [resource] } },
  options,
  default: 'getAll',
})

const simplify: INodeProperties = {
  displayName: 'Simplify',
  name: 'simplify',
  type: 'boolean',
  default: true,
  description: 'Whether to return a simplified version of the response instead of the raw data',
}

const fields: INodeProperties = {
  displayName: 'Fields',
  name: 'fields',
  type: 'string',
  default: '',
  placeholder: 'submittedAt,examinee.email,result.score',
  description: 'The fields to return, with a dot before the name of a nested one and commas between. All if empty.',
}

const filters = (resource: string, shown: readonly string[], options: INodeProperties[]): INodeProperties => ({
  displayName: 'Filters',
  name: 'filters',
  type: 'collection',
  placeholder: 'Add Filter',
  default: {},
  ...shownFor(resource, shown),
  description: 'What must hold, all of it',
  options,
})

const many = (resource: string): INodeProperties[] => [
  {
    displayName: 'Return All',
    name: 'returnAll',
    type: 'boolean',
    default: false,
    ...shownFor(resource, ['getAll']),
    description: 'Whether to return all results or only up to a given limit',
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1 },
    default: 50,
    displayOptions: { show: { resource: [resource], operation: ['getAll'], returnAll: [false] } },
    description: 'Max number of results to return',
  },
]

const countedBy = [
  { name: 'Answer', value: 'answer' },
  { name: 'Campaign', value: 'utmCampaign' },
  { name: 'Form', value: 'form' },
  { name: 'Level', value: 'level' },
  { name: 'Outcome', value: 'outcome' },
  { name: 'Source', value: 'utmSource' },
  { name: 'Status', value: 'status' },
]

const counting: INodeProperties[] = [
  {
    displayName: 'Count by Time',
    name: 'time',
    type: 'options',
    ...shownFor('submission', ['count']),
    options: [
      { name: 'Day', value: 'day' },
      { name: 'Hour', value: 'hour' },
      { name: 'Month', value: 'month' },
      { name: 'Not by Time', value: 'none' },
    ],
    default: 'day',
    description: 'The unit of the time of submission',
  },
  {
    displayName: 'Count by Value',
    name: 'value',
    type: 'options',
    ...shownFor('submission', ['count']),
    options: [...countedBy, { name: 'Not by Value', value: 'none' }],
    default: 'none',
    description: 'The value that tells submissions apart',
  },
  {
    displayName: 'Field Code',
    name: 'code',
    type: 'string',
    default: '',
    displayOptions: { show: { resource: ['submission'], operation: ['count'], value: ['answer'] } },
    placeholder: 'q1',
    description: 'The code of the form field whose answers are counted',
  },
  {
    displayName: 'Options',
    name: 'options',
    type: 'collection',
    placeholder: 'Add Option',
    default: {},
    ...shownFor('submission', ['count']),
    options: [
      {
        displayName: 'Scores',
        name: 'scores',
        type: 'boolean',
        default: true,
        description: 'Whether to return the number, minimum, maximum and mean of the scores, too',
      },
      {
        displayName: 'Time Zone',
        name: 'timeZone',
        type: 'string',
        default: 'UTC',
        placeholder: 'Europe/Berlin',
        description: 'IANA name of the time zone in which hours, days and months begin',
      },
    ],
  },
]

const id = (resource: string): INodeProperties[] =>
  resource === 'form'
    ? [{ ...formLocator, name: 'formId', required: true, ...shownFor(resource, ['get']) }]
    : [
        {
          displayName: 'Submission ID',
          name: 'submissionId',
          type: 'string',
          required: true,
          default: '',
          ...shownFor(resource, ['get']),
        },
      ]

export const properties: INodeProperties[] = [
  {
    displayName: 'Resource',
    name: 'resource',
    type: 'options',
    noDataExpression: true,
    options: [
      { name: 'Form', value: 'form' },
      { name: 'Submission', value: 'submission' },
    ],
    default: 'submission',
  },
  operations('form', [
    { name: 'Get', value: 'get', description: 'Get a form', action: 'Get a form' },
    { name: 'Get Many', value: 'getAll', description: 'Get many forms', action: 'Get many forms' },
  ]),
  operations('submission', [
    { name: 'Count', value: 'count', description: 'Count submissions', action: 'Count submissions' },
    { name: 'Get', value: 'get', description: 'Get a submission', action: 'Get a submission' },
    { name: 'Get Many', value: 'getAll', description: 'Get many submissions', action: 'Get many submissions' },
  ]),
  ...id('form'),
  ...id('submission'),
  ...many('form'),
  ...many('submission'),
  ...counting,
  { ...simplify, ...shownFor('form', ['get', 'getAll']) },
  { ...simplify, ...shownFor('submission', ['count', 'get', 'getAll']) },
  { ...fields, ...shownFor('form', ['get', 'getAll']) },
  { ...fields, ...shownFor('submission', ['get', 'getAll']) },
  filters('form', ['getAll'], formFilters),
  filters('submission', ['count', 'getAll'], submissionFilters),
]
