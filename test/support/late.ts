/** Stands for a value that a hook makes later: each use reads the value that is there by then. */
export const late = <T extends object>(what: string, current: () => T | undefined): T =>
  new Proxy({} as T, {
    get: (_target, name) => {
      const value = current()
      if (value === undefined) throw new Error(`${what} has not started`)
      const member: unknown = Reflect.get(value, name)
      return typeof member === 'function' ? (member.bind(value) as unknown) : member
    },
  })
