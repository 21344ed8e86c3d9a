import { expectComparable, longText, type Mapping } from './mapping.ts'
import { expectOnly, notSimulated } from './refusal.ts'
import type { StoredDocument } from './shard.ts'

type Json = Readonly<Record<string, unknown>>
type Matches = (document: StoredDocument) => boolean

/** Compiles a query to a predicate on documents. Throws for a query that is not simulated. */
export function compileQuery(query: Json | undefined, mapping: Mapping): Matches {
  if (query === undefined) return () => true
  const [kind, body] = onlyMember(query, 'a query')
  switch (kind) {
    case 'ids': {
      const wanted = new Set((body as { readonly values: readonly string[] }).values)
      return ({ id }) => wanted.has(id)
    }
    case 'match_all':
      return () => true
    case 'bool':
      return compileBool(body as Json, mapping)
    case 'term':
      return compileTerm(...onlyMember(body as Json, 'a term query'), mapping)
    case 'terms':
      return compileTerms(...onlyMember(body as Json, 'a terms query'), mapping)
    case 'range':
      return compileRange(...onlyMember(body as Json, 'a range query'), mapping)
    default:
      throw notSimulated(`${kind} queries`)
  }
}

function compileBool(body: Json, mapping: Mapping): Matches {
  expectOnly(['filter', 'should', 'minimum_should_match'], body, 'a bool query')
  const { filter = [], should, minimum_should_match: least } = body
  if ((should === undefined) !== (least === undefined) || (least ?? 1) !== 1) throw notSimulated('this bool query')
  const filters = (filter as readonly Json[]).map((clause) => compileQuery(clause, mapping))
  const choices = (should as readonly Json[] | undefined)?.map((clause) => compileQuery(clause, mapping))
  return (document) =>
    filters.every((matches) => matches(document)) && (choices?.some((matches) => matches(document)) ?? true)
}

function compileTerm(field: string, value: unknown, mapping: Mapping): Matches {
  if (field === '_routing') return ({ routing }) => routing === value
  expectComparable(mapping.typeOf(field), value)
  return ({ fields }) => fields[field] === value
}

function compileTerms(field: string, values: unknown, mapping: Mapping): Matches {
  for (const value of values as readonly unknown[]) expectComparable(mapping.typeOf(field), value)
  const wanted = new Set(values as readonly string[])
  return ({ fields }) => wanted.has(String(fields[field]))
}

const comparisons: Readonly<Record<string, <T extends string | number>(value: T, bound: T) => boolean>> = {
  gt: (value, bound) => value > bound,
  gte: (value, bound) => value >= bound,
  lt: (value, bound) => value < bound,
  lte: (value, bound) => value <= bound,
}

function compileRange(field: string, body: unknown, mapping: Mapping): Matches {
  const bounds = Object.entries(body as Json).map(([name, bound]) => {
    const compare = comparisons[name]
    if (compare === undefined) throw notSimulated(`${name} in a range query`)
    return { compare, bound }
  })
  if (field === '_seq_no') return ({ seqNo }) => bounds.every(({ compare, bound }) => compare(seqNo, Number(bound)))
  const type = mapping.typeOf(field)
  const tests = bounds.map(({ compare, bound }) => {
    const text = type === 'long' && Number.isSafeInteger(bound) ? longText(Number(bound)) : bound
    expectComparable(type, text)
    return (value: string): boolean => compare(value, text)
  })
  return ({ fields }) => {
    const value = fields[field]
    return value !== undefined && tests.every((test) => test(value))
  }
}

/** Compiles aggregations, date histograms or maxima of dates, to a function of the documents found. */
export function compileAggregations(
  aggregations: Json,
  mapping: Mapping,
): (documents: readonly StoredDocument[]) => object {
  const compiled = Object.entries(aggregations).map(([name, aggregation]) => {
    const [kind, body] = onlyMember(aggregation as Json, 'an aggregation')
    if (kind === 'date_histogram') return [name, compileHistogram(body as Json, mapping)] as const
    if (kind === 'max') return [name, compileMaximum(body as Json, mapping)] as const
    throw notSimulated(`${kind} aggregations`)
  })
  return (documents) => Object.fromEntries(compiled.map(([name, result]) => [name, result(documents)]))
}

function compileMaximum(
  { field, ...others }: Json,
  mapping: Mapping,
): (documents: readonly StoredDocument[]) => object {
  expectOnly([], others, 'a maximum')
  if (mapping.typeOf(String(field)) !== 'date') throw notSimulated('this maximum')
  return (documents) => {
    const values = documents.flatMap(({ fields }) => fields[String(field)] ?? [])
    return { value: values.length === 0 ? null : Math.max(...values.map((value) => Date.parse(value))) }
  }
}

function compileHistogram(body: Json, mapping: Mapping): (documents: readonly StoredDocument[]) => object {
  const { field, fixed_interval: interval, min_doc_count: least, order, ...others } = body
  expectOnly([], others, 'a date histogram')
  const stepMs = Number(/^(\d+)ms$/.exec(String(interval))?.[1])
  const isSimulated = least === 1 && JSON.stringify(order) === '{"_key":"desc"}' && stepMs > 0
  if (!isSimulated || mapping.typeOf(String(field)) !== 'date') throw notSimulated('this date histogram')
  return (documents) => {
    const counts = new Map<number, number>()
    for (const { fields } of documents) {
      const value = fields[String(field)]
      if (value === undefined) continue
      const key = Math.floor(Date.parse(value) / stepMs) * stepMs
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return { buckets: [...counts].sort(([a], [b]) => b - a).map(([key, doc_count]) => ({ key, doc_count })) }
  }
}

function onlyMember(value: Json, what: string): [string, unknown] {
  const [member, ...others] = Object.entries(value)
  if (member === undefined || others.length > 0) throw notSimulated(`${what} of ${others.length + 1} members`)
  return member
}
