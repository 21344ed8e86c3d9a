import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export type SchemaJudge = ReturnType<typeof schemaJudge>

/** Validates values by schemas of the OpenAPI description, strictly, with formats. */
export function schemaJudge(description: object) {
  // OpenAPI 3.1 declares nullable values by a list in `type`.
  const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, strictTypes: false })
  addFormats.default(ajv)
  // The whole description is no schema; JSON pointers find the schemas in it.
  ajv.addVocabulary([...Object.keys(description)])
  ajv.addSchema(description, 'description')
  const compiled = new Map<string, ValidateFunction>()
  return {
    /** Problems of a value; empty if valid. `pointer`: JSON pointer to a schema in the description. */
    problems: (pointer: string, value: unknown): readonly string[] => {
      const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `description#${pointer}` })
      compiled.set(pointer, validate)
      return validate(value) ? [] : (validate.errors ?? []).map((error) => JSON.stringify(error))
    },
  }
}

/** Joins and escapes the parts of a JSON pointer. */
export const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')
