import { type RawObject, rawMembers, renderObject } from './rawJson.ts'

/** The served members of an object, in order; a pair is an object of which only some members are served. */
export type Served = readonly (string | readonly [name: string, members: Served])[]

/** The served members, each as in `replaced` or else as in the record; missing members and objects are null. */
export const renderServed = (served: Served, raw: RawObject, replaced?: ReadonlyMap<string, string>): string =>
  renderObject(
    served.map((member) => {
      if (typeof member === 'string') return [member, replaced?.get(member) ?? raw.get(member)] as const
      const [name, members] = member
      const text = raw.get(name)
      return [
        name,
        text === undefined || text === 'null' ? undefined : renderServed(members, rawMembers(text)),
      ] as const
    }),
  )
