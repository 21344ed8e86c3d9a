import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { type Served, servedPair } from '../core/json/scanner.ts'
import { apiError } from './errors.ts'
import { show, text } from './parameters.ts'

/** The member with a submission's answers by code: the codes are not fixed. */
const answersMember = 'data'

const maxFields = 100

/** The pattern accepts names from all `memberLists`, such as those of both views; `selectedFields` validates those of one view. */
export function fieldsParameter(...memberLists: readonly Served[]) {
  const name = patternOf(memberLists.reduce(mergedWith))
  const description =
    'Only these fields: names separated by commas, with dots between the levels of a nested field, such as `result.score`. After `data.` comes ' +
    'the code of an answer. Columns of CSV have this order; fields of one object stand together. With `view=full`, the names are those of a single item.'
  return { fields: text.meta({ description, pattern: `^${name}(,${name}){0,${maxFields - 1}}$`, examples: ['id'] }) }
}

export const mergedWith = (members: Served, added: Served): Served =>
  added.reduce((merged, member) => {
    const [name, inner = []] = servedPair(member)
    const at = merged.findIndex((other) => servedPair(other)[0] === name)
    const present = merged[at]
    if (present === undefined) return merged.concat([member])
    return merged.with(at, typeof present === 'string' ? member : [name, mergedWith(present[1], inner)])
  }, members)

const patternOf = (served: Served): string => {
  const names = served.map((member) => {
    const [name, inner] = servedPair(member)
    if (inner !== undefined) return `${name}(\\.${patternOf(inner)})?`
    return name === answersMember ? `${answersMember}(\\.[^,]*)?` : name
  })
  return `(${names.join('|')})`
}

/** In the order of `fields`; undefined without it. Throws 400 for an unknown name, and for more than 100 names. */
export function selectedFields(fields: string | undefined, served: Served): Served | undefined {
  if (fields === undefined) return undefined
  const paths = fields.split(',')
  if (paths.length > maxFields)
    throw apiError('bad_request', `fields must be at most ${maxFields} names, not ${paths.length}`)
  const name = new RegExp(`^${patternOf(served)}$`)
  const selected: Selected = new Map()
  for (const path of paths) {
    if (!name.test(path))
      throw apiError('bad_request', `fields must be names of fields such as id,result.score, not ${show(path)}`)
    const code = path.startsWith(`${answersMember}.`) ? path.slice(answersMember.length + 1) : undefined
    select(selected, code === undefined ? path.split('.') : [answersMember, code])
  }
  return servedOf(selected)
}

/** In the order of first mention. */
type Selected = Map<string, Selected | 'whole'>

function select(selected: Selected, [name = '', ...rest]: readonly string[]): void {
  const earlier = selected.get(name)
  if (earlier === 'whole') return
  if (rest.length === 0) {
    selected.set(name, 'whole')
    return
  }
  const inner = earlier ?? (new Map() satisfies Selected)
  selected.set(name, inner)
  select(inner, rest)
}

const servedOf = (selected: Selected): Served =>
  [...selected].map(([name, inner]) => (inner === 'whole' ? name : [name, servedOf(inner)]))

/** Copies the selected members of a JSON object, byte for byte, if the object has them. `selected` undefined: all members. */
export const pickFields =
  (selected: Served | undefined) =>
  (row: Buffer): Buffer =>
    selected === undefined ? row : Buffer.from(pick(row.toString(), selected))

function pick(raw: string, selected: Served): string {
  const members = rawMembers(raw)
  const picked = selected.flatMap((member): (readonly [string, string])[] => {
    const [name, inner] = servedPair(member)
    const value = members.get(name)
    return value === undefined ? [] : [[name, inner === undefined || value === 'null' ? value : pick(value, inner)]]
  })
  return renderObject(picked)
}
