import { type Html, html } from '../../src/core/pages/html.ts'
import { timeOfDay } from './format.ts'

export const unknownSection = (title: string): Html =>
  html`<section><h2>${title}</h2><p class="card">Not known yet.</p></section>`

/** `atMs`: when the content was read (epoch ms). */
export const sectionHead = (title: string, atMs: number, nowMs: number): Html =>
  html`<div class="hstack justify-between mb-2"><h2>${title}</h2><p class="text-light">as of ${timeOfDay(atMs, nowMs)}</p></div>`
