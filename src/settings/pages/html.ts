import type { html } from 'hono/html'

/** Markup in which everything that was put in is escaped. */
export type Html = ReturnType<typeof html>
