import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { type Served, servedPair } from '../core/json/scanner.ts'
import { apiError } from './errors.ts'
import { show, text } from './parameters.ts'

/*
 * The parameter `fields`, such as `fields=id,result.score,data.q1`. `Served` lists the members of an object in order: names, or pairs of a name and
 * the inner members.
 */

/** A submission's answers, by codes: any text may be a code. */
const answersMember = 'data'

const maxFields = 100

/** Its pattern accepts the names of all views (`memberLists`); `selectedFields` validates them by the view of the request. */
export function fieldsParameter(...memberLists: readonly Served[]) {
  const name = patternOf(memberLists.reduce(mergedWith))
  const description =
    'Only these fields: names separated by commas, with dots between the levels of a nested field, such as `result.score`. After `data.` comes ' +
    'the code of an answer. Columns of CSV have this order; fields of one object stand together. With `view=full`, the names are those of a single item.'
  return { fields: text.meta({ description, pattern: `^${name}(,${name}){0,${maxFields - 1}}$`, examples: ['id'] }) }
}

/** Each member of both lists once, also inner members. */
export const mergedWith = (members: Served, added: Served): Served =>
  added.reduce((merged, member) => {
    const [name, innerMembers = []] = servedPair(member)
    const index = merged.findIndex((other) => servedPair(other)[0] === name)
    const present = merged[index]
    if (present === undefined) return merged.concat([member])
    return merged.with(index, typeof present === 'string' ? member : [name, mergedWith(present[1], innerMembers)])
  }, members)

/** Such as `(id|result(\.(score|level))?|data(\.[^,]*)?)`. */
const patternOf = (served: Served): string => {
  const names = served.map((member) => {
    const [name, inner] = servedPair(member)
    if (inner !== undefined) return `${name}(\\.${patternOf(inner)})?`
    return name === answersMember ? `${answersMember}(\\.[^,]*)?` : name
  })
  return `(${names.join('|')})`
}

/** In the order of `fields`; undefined without `fields`. Throws 400 for an unknown name, or too many. */
export function selectedFields(fields: string | undefined, served: Served): Served | undefined {
  if (fields === undefined) return undefined
  const paths = fields.split(',')
  if (paths.length > maxFields)
    throw apiError('bad_request', `fields must be at most ${maxFields} names, not ${paths.length}`)
  const knownPath = new RegExp(`^${patternOf(served)}$`)
  const selected: Selected = new Map()
  for (const path of paths) {
    if (!knownPath.test(path))
      throw apiError('bad_request', `fields must be names of fields such as id,result.score, not ${show(path)}`)
    // A code may contain dots.
    const code = path.startsWith(`${answersMember}.`) ? path.slice(answersMember.length + 1) : undefined
    select(selected, code === undefined ? path.split('.') : [answersMember, code])
  }
  return servedOf(selected)
}

/** By name, in the order in which `fields` first names them. */
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

/** Copies the selected members that a JSON object has, byte for byte; undefined selects all. */
export const pickFields =
  (selected: Served | undefined) =>
  (row: Buffer): Buffer =>
    selected === undefined ? row : Buffer.from(pick(row.toString(), selected))

function pick(raw: string, selected: Served): string {
  const members = rawMembers(raw)
  const picked = selected.flatMap((member): (readonly [name: string, value: string])[] => {
    const [name, innerMembers] = servedPair(member)
    const value = members.get(name)
    if (value === undefined) return []
    const isWhole = innerMembers === undefined || value === 'null'
    return [[name, isWhole ? value : pick(value, innerMembers)]]
  })
  return renderObject(picked)
}
