import type { SettingsContext } from './context.ts'

/** Sends the browser to another page, which it asks for with GET. */
export function seeOther(ctx: SettingsContext, path: string): void {
  ctx.status = 303
  ctx.redirect(path)
}
