import { withoutRepeatedNames } from '../../../../src/core/json/rawJson.ts'
import { notSimulated, Refusal } from './refusal.ts'

/** Path of a field → its text, by which documents are found and sorted. */
export type Fields = Readonly<Record<string, string>>

type Property = {
  readonly type?: string
  readonly enabled?: boolean
  readonly dynamic?: boolean
  readonly doc_values?: boolean
  readonly properties?: Properties
}
type Properties = Readonly<Record<string, Property>>

/** The form of instants whose text sorts by time. */
const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** The mapping of an index: reads all fields of a list document, none of a detail document. */
export class Mapping {
  readonly #properties: Properties | undefined
  readonly #types = new Map<string, string>()

  constructor(mappings: Readonly<Record<string, unknown>>) {
    const { enabled = true, dynamic, properties } = mappings
    if (enabled === false) return
    if (dynamic !== 'strict') throw notSimulated('mappings that are not strict')
    this.#properties = properties as Properties
    this.#collectTypes(this.#properties, '')
  }

  /** The type of an indexed field. Throws for other fields. */
  typeOf(field: string): string {
    const type = this.#types.get(field)
    if (type === undefined) throw notSimulated(`queries by ${field}`)
    return type
  }

  /** The fields of a document. Throws the error of Elasticsearch for a document that it cannot index. */
  read(source: string): Fields {
    const fields: Record<string, string> = {}
    const parsed = parseOnce(source)
    if (this.#properties !== undefined) this.#collect(this.#properties, parsed, '', fields)
    return fields
  }

  #collectTypes(properties: Properties, path: string): void {
    for (const [name, property] of Object.entries(properties)) {
      if (property.dynamic === false) continue
      if (property.properties !== undefined) this.#collectTypes(property.properties, `${path}${name}.`)
      const isSearchable =
        ['date', 'long'].includes(property.type ?? '') || (property.type === 'keyword' && property.doc_values !== false)
      if (isSearchable) this.#types.set(path + name, property.type ?? '')
    }
  }

  #collect(properties: Properties, value: object, path: string, fields: Record<string, string>): void {
    for (const [name, member] of Object.entries(value)) {
      const property = properties[name]
      if (property === undefined) throw unknownField(name, path)
      // No simulated search filters by the members of an opaque object.
      if (property.enabled === false || property.dynamic === false || member === null) continue
      if (property.properties !== undefined) this.#collect(property.properties, member, `${path}${name}.`, fields)
      else this.#addField(property, member, path + name, fields)
    }
  }

  #addField({ type }: Property, member: unknown, path: string, fields: Record<string, string>): void {
    const isLong = type === 'long' && Number.isSafeInteger(member)
    const text = isLong ? longText(Number(member)) : member
    if (typeof text !== 'string') throw notSimulated(`a value of ${path} that is no text`)
    if (type === 'date' && !instantPattern.test(text)) throw unparsable(`field [${path}]`)
    if (this.#types.has(path)) fields[path] = text
  }
}

/** The text of a positive integer that sorts as the number does. */
export const longText = (value: number): string => String(value).padStart(16, '0')

/** Parses JSON; like Elasticsearch, rejects repeated names at any depth. */
function parseOnce(source: string): object {
  try {
    const parsed: unknown = JSON.parse(source)
    const isAccepted = withoutRepeatedNames(source) === source
    if (typeof parsed === 'object' && parsed !== null && isAccepted) return parsed
  } catch {}
  throw unparsable('the document')
}

const unparsable = (what: string): Refusal =>
  new Refusal(400, { type: 'document_parsing_exception', reason: `failed to parse ${what}` })

const unknownField = (name: string, path: string): Refusal =>
  new Refusal(400, {
    type: 'strict_dynamic_mapping_exception',
    reason: `mapping set to strict, dynamic introduction of [${name}] within [${path === '' ? '_doc' : path.slice(0, -1)}] is not allowed`,
  })

/** Throws unless a value can be compared with the values of a field of this type. */
export function expectComparable(type: string, text: unknown): asserts text is string {
  if (typeof text !== 'string' || (type === 'date' && !instantPattern.test(text)))
    throw notSimulated(`comparing a ${type} with ${String(text)}`)
}
