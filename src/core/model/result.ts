/** Why a record, parameter or setting is refused: its path, and the rule that it breaks. */
export type Problem = { readonly path: string; readonly rule: string }

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

export const accepted = <T>(value: T): Result<T> => ({ ok: true, value })
export const refused = (path: string, rule: string): Result<never> => ({ ok: false, problem: { path, rule } })
