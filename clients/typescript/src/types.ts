import type { components, operations } from './openapi.ts'

type Schemas = components['schemas']

/** `T` with all of its members. In the description of the API they are optional, because `fields` may leave them out. */
type Whole<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { [K in keyof T]-?: Whole<Exclude<T[K], undefined>> }
    : T

export type FormSummary = Whole<Schemas['FormSummary']>
export type Form = Whole<Schemas['Form']>
export type RecordSummary = Whole<Schemas['SubmissionSummary']>
/** A submission with its full report. */
export type RecordDetails = Whole<Schemas['Submission']>

export type List = 'forms' | 'records'
export type View = 'summary' | 'full'

/** The items of each list by view. */
export interface Items {
  readonly forms: { readonly summary: FormSummary; readonly full: Form }
  readonly records: { readonly summary: RecordSummary; readonly full: RecordDetails }
}

/** The names that `fields` may have for items of type `T`: `result`, `result.score`, `data.q1`. */
export type FieldOf<T> = {
  [K in keyof T & string]: K | (K extends 'data' ? `data.${string}` : InnerFieldOf<K, NonNullable<T[K]>>)
}[keyof T & string]
type InnerFieldOf<K extends string, V> = V extends readonly unknown[]
  ? never
  : V extends object
    ? string extends keyof V
      ? never
      : `${K}.${FieldOf<V>}`
    : never

/** The members of `T` that are served with these names in `fields`. */
export type Picked<T, Names extends string> = {
  [K in keyof T as K extends First<Names> ? K : never]: K extends Names ? T[K] : PickedInner<T[K], Rest<Names, K>>
}
type First<Name extends string> = Name extends `${infer Beginning}.${string}` ? Beginning : Name
type Rest<Name extends string, K> = K extends string ? (Name extends `${K}.${infer Inner}` ? Inner : never) : never
type PickedInner<V, Names extends string> = V extends object ? (string extends keyof V ? V : Picked<V, Names>) : V

type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? T
      : { [K in keyof T]?: DeepPartial<T[K]> }
    : T

/** An item of type `T` as it is answered with `fields`. Of names that are not known before the program runs, any may be missing. */
export type Selected<T, Fields> = Fields extends readonly (infer Name extends string)[]
  ? number extends Fields['length']
    ? DeepPartial<T>
    : Picked<T, Name>
  : T

/** The names of fields, or none. */
export type FieldsOf<T> = readonly FieldOf<T>[] | undefined

/** A row of the change feed. */
export type ChangeRow<Item> = ExistingRow<Item> | DeletedRow
export type ExistingRow<Item> = Item & {
  readonly id: string
  /** The timestamp of the entity's newest record in Kafka. */
  readonly changedAt: string
  readonly deleted: false
}
export interface DeletedRow {
  readonly id: string
  readonly changedAt: string
  readonly deleted: true
}

/** A page of a list. */
export interface Page<Item> {
  /** The exact number of matching items on all pages. */
  readonly totalDocs: number
  readonly page: number
  readonly limit: number
  /** Newest first. */
  readonly items: readonly Item[]
}

type QueryOf<Operation extends keyof operations> = NonNullable<operations[Operation]['parameters']['query']>
type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }
type Shape = 'page' | 'limit' | 'fields' | 'view'
type Filters<Operation extends keyof operations> = Optional<Omit<QueryOf<Operation>, Shape | 'answers'>>

export type FormFilters = Filters<'listForms'>
export type RecordFilters = Filters<'listRecords'> & {
  /** From the code of a field to its answer, or to a list of alternatives. Submissions must match all of these fields. */
  readonly answers?: Readonly<Record<string, string | readonly string[]>> | undefined
}
export interface FiltersOf {
  readonly forms: FormFilters
  readonly records: RecordFilters
}

export interface PageParameters {
  /** Items of a page, from 1 to 100; 20 by default. */
  readonly limit?: number | undefined
  /** The number of the page, from 1. */
  readonly page?: number | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
}

/** What may be counted: a value, a time, or a time and a value such as `day,level`. */
export type CountBy = QueryOf<'countRecords'>['by']
type Times = 'hour' | 'day' | 'month'
type KeyOf<By> = By extends `${Times},${infer Value}`
  ? [time: string, value: KeyOf<Value>]
  : By extends Times | 'status'
    ? string
    : string | null

type CountItem = Schemas['SubmissionCounts']['items'][number]
export type Scores = NonNullable<CountItem['scores']>

/** `Parameters` are those of the request: without `scores: true` there are no scores, and `by` says what the keys are. */
export interface Counts<Parameters extends CountParameters> {
  /** The exact number of matching submissions. */
  readonly totalDocs: number
  readonly by: Parameters['by']
  readonly items: readonly Count<Parameters>[]
}
export type Count<Parameters extends CountParameters> = {
  /** The value, null for submissions without one; or the beginning of the hour, day or month. */
  readonly key: KeyOf<Parameters['by']>
  readonly count: number
} & (Parameters extends { readonly scores: true }
  ? { readonly scores: Scores }
  : Parameters extends { readonly scores: boolean }
    ? { readonly scores?: Scores }
    : unknown)

type CountsOnly = Optional<Pick<QueryOf<'countRecords'>, 'scores' | 'timeZone'>>
/** `code`, the field whose answers are counted, is required with `answer` and not allowed otherwise. */
export type CountParameters = RecordFilters &
  CountsOnly &
  (
    | { readonly by: Extract<CountBy, `${string}answer`>; readonly code: string }
    | { readonly by: Exclude<CountBy, `${string}answer`>; readonly code?: undefined }
  )
