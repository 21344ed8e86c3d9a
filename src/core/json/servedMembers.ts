import { type RawObject, rawMembers, renderObject } from './rawJson.ts'

/** The members of an object that are served, in their order; a pair is an object of which again only some are. */
export type Served = readonly (string | readonly [name: string, members: Served])[]

/** The served members as they came, or as `judged` has them; missing ones as null. A missing or null object stays null. */
export const renderServed = (served: Served, raw: RawObject, judged?: ReadonlyMap<string, string>): string =>
  renderObject(
    served.map((member) => {
      if (typeof member === 'string') return [member, judged?.get(member) ?? raw.get(member)] as const
      const [name, members] = member
      const text = raw.get(name)
      return [
        name,
        text === undefined || text === 'null' ? undefined : renderServed(members, rawMembers(text)),
      ] as const
    }),
  )
