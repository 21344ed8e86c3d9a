/** A proxy for a value that a hook sets later: each use reads the current value. */
export const late = <T extends object>(what: string, current: () => T | undefined): T =>
  new Proxy({} as T, {
    get: (_target, name) => {
      const value = current()
      if (value === undefined) throw new Error(`${what} has not started`)
      const member: unknown = Reflect.get(value, name)
      return typeof member === 'function' ? (member.bind(value) as unknown) : member
    },
  })

/** Another object's members, and these in front of them. */
export const beside = <Other extends object, Own extends object>(
  other: Other,
  own: Own,
): Omit<Other, keyof Own> & Own =>
  new Proxy(own, {
    get: (target, name) => Reflect.get(name in target ? target : other, name) as unknown,
  }) as Omit<Other, keyof Own> & Own
