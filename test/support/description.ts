import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export type SchemaJudge = ReturnType<typeof schemaJudge>

/** Judges values by schemas of the description of the API, strictly, formats included. */
export function schemaJudge(description: object) {
  // "type" as a list is how a schema of OpenAPI 3.1 says that a value may be null.
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, strictTypes: false })
  addFormats.default(ajv)
  // The description is no schema as a whole: what is in it is found by pointer.
  ajv.addVocabulary([...Object.keys(description)])
  ajv.addSchema(description, 'description')
  const compiled = new Map<string, ValidateFunction>()
  return {
    /** What is wrong with a value; empty when nothing is. `pointer` is a JSON pointer into the description. */
    problems: (pointer: string, value: unknown): readonly string[] => {
      const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `description#${pointer}` })
      compiled.set(pointer, validate)
      return validate(value) ? [] : (validate.errors ?? []).map((error) => JSON.stringify(error))
    },
  }
}

/** A JSON pointer from its parts. */
export const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')
