import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { browserProgram } from '../../tools/screenshots/browserProgram.ts'
import { closing } from './closing.ts'
import { patienceMs } from './eventually.ts'
import { useStarted } from './lifecycle.ts'

/** The browser, for all tests of a file, and what opens a page for one test. */
export function useBrowser() {
  const browser = useStarted('the browser', async () => {
    const { executablePath, env } = await browserProgram(process)
    return chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] })
  })
  const close = closing()
  const visit = async (options: BrowserContextOptions = {}): Promise<Visit> => close(await openVisit(browser, options))
  return { browser, visit }
}

export type Visit = Awaited<ReturnType<typeof openVisit>>

/** Opens a page in a new browser context. */
export async function openVisit(browser: Browser, options: BrowserContextOptions) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US', ...options })
  context.setDefaultTimeout(patienceMs)
  const page = await context.newPage()
  /** Errors and warnings of the browser so far. */
  const complaints: string[] = []
  /** Every requested URL. */
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  // The console also reports violations of the content security policy.
  page.on('console', (message) => {
    const isExpected = /Failed to load resource: the server responded with a status of 4/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  return { page, complaints, requested, close: () => context.close() }
}

/** By how many pixels the page is wider than its window. */
export const overhangOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

type Finding = {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** Accessibility violations of the page, found by axe. */
export async function barriersOn(page: Page): Promise<string[]> {
  // Evaluated instead of loaded, because the page's policy forbids foreign scripts.
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const { violations, incomplete } = await page.evaluate<{ violations: Finding[]; incomplete: Finding[] }>('axe.run()')
  return [...violations, ...incomplete].flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
