import type { INodeParameterResourceLocator, INodeProperties, INodePropertyOptions } from 'n8n-workflow'
import type { Query } from './api.ts'

const options = (values: readonly string[]): INodePropertyOptions[] =>
  values.map((value) => ({
    name: value.replace(/(^|_)(\w)/g, (_all, gap, letter) => (gap && ' ') + letter.toUpperCase()),
    value,
  }))

export const statuses = options(['completed', 'failed', 'pending', 'processing'])
export const scenes = options(['knowledge_quiz', 'outcome_quiz', 'random_knowledge_quiz', 'scored_quiz'])

/** A form, chosen from the team's forms by its title, or by its ID. */
export const formLocator: Pick<INodeProperties, 'displayName' | 'type' | 'default' | 'modes' | 'description'> = {
  displayName: 'Form',
  type: 'resourceLocator',
  default: { mode: 'list', value: '' },
  description: 'A form of the team',
  modes: [
    {
      displayName: 'From List',
      name: 'list',
      type: 'list',
      typeOptions: { searchListMethod: 'searchForms', searchable: true },
    },
    { displayName: 'By ID', name: 'id', type: 'string', placeholder: '66f2a1c4e8b0' },
  ],
}

/** The ID of a chosen form; `undefined` if none is chosen. */
export function formIdOf(form: INodeParameterResourceLocator | string | undefined): string | undefined {
  const id = typeof form === 'object' ? form.value : form
  return id === undefined || id === null || id === '' ? undefined : String(id)
}

const text = (displayName: string, name: string, description: string): INodeProperties => ({
  displayName,
  name,
  type: 'string',
  default: '',
  description,
})

const time = (displayName: string, name: string, description: string): INodeProperties => ({
  ...text(displayName, name, `${description}. A date alone is the whole day; a time without an offset is in UTC.`),
  placeholder: '2026-11-21, or 2026-11-21T08:30:00Z',
})

const changed = [
  time('Changed Since', 'changedSince', 'Changed at this time or later'),
  time('Changed Until', 'changedUntil', 'Changed at this time or earlier'),
]

export const formFilters: INodeProperties[] = [
  ...changed,
  {
    displayName: 'Scene',
    name: 'scene',
    type: 'options',
    options: scenes,
    default: 'knowledge_quiz',
    description: 'The kind of quiz',
  },
  text('Title Contains', 'titleContains', 'Words of the title, also misspelt'),
]

const score = (displayName: string, name: string, description: string): INodeProperties => ({
  displayName,
  name,
  type: 'number',
  default: 0,
  description,
})

export const submissionFilters: INodeProperties[] = [
  {
    displayName: 'Answers',
    name: 'answers',
    type: 'fixedCollection',
    typeOptions: { multipleValues: true },
    placeholder: 'Add Answer',
    default: {},
    description: 'Answers that a submission must have. Several values for one field: any of them.',
    options: [
      {
        displayName: 'Answer',
        name: 'answer',
        values: [
          text('Field Code', 'code', 'The code of the field, such as q1'),
          text('Value', 'value', 'The answer, or one of the answers, as text'),
        ],
      },
    ],
  },
  ...changed,
  {
    ...text('Email', 'email', 'Of the examinee, in any letter case'),
    placeholder: 'name@email.com',
  },
  text('Examinee ID', 'examineeId', 'Equal to the examineeId that was given to the quiz'),
  { ...formLocator, name: 'formId' },
  text('Level', 'level', 'Equal to the level of the result, such as fail'),
  score('Maximum Score', 'maxScore', 'The highest score, inclusive'),
  score('Minimum Score', 'minScore', 'The lowest score, inclusive'),
  text('Outcome Code', 'outcomeCode', 'Equal to the code of the outcome'),
  { ...score('Serial Number', 'serialNumber', 'Equal to the serial number') },
  text('Share Token', 'shareToken', 'Equal to the share token'),
  {
    displayName: 'Status',
    name: 'status',
    type: 'options',
    options: statuses,
    default: 'completed',
    description: 'The state of the report',
  },
  time('Submitted Since', 'since', 'Submitted at this time or later'),
  time('Submitted Until', 'until', 'Submitted at this time or earlier'),
  text('UTM Campaign', 'utmCampaign', 'Equal to the campaign'),
  text('UTM Medium', 'utmMedium', 'Equal to the medium'),
  text('UTM Source', 'utmSource', 'Equal to the source'),
]

/** Values of a collection of filters, as n8n hands them over. */
export type Filters = Readonly<Record<string, unknown>> & {
  readonly formId?: INodeParameterResourceLocator | string
  readonly answers?: { readonly answer?: ReadonlyArray<{ readonly code: string; readonly value: string }> }
}

/**
 * Parameters of the API for filters. A filter that was added and left empty is sent empty, and refused: dropped, it would select everything.
 */
export function queryOf({ formId, answers, ...others }: Filters): Query {
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(others)) query[name] = String(value)
  if (formId !== undefined) query['formId'] = formIdOf(formId) ?? ''
  if (answers?.answer !== undefined) query['answers'] = answersText(answers.answer)
  return query
}

function answersText(answers: NonNullable<NonNullable<Filters['answers']>['answer']>): string {
  const values = new Map<string, string[]>()
  for (const { code, value } of answers) values.set(code, [...(values.get(code) ?? []), String(value)])
  return JSON.stringify(Object.fromEntries(values))
}
