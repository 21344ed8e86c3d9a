import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { browserProgram } from '../../tools/screenshots/browserProgram.ts'
import { patienceMs } from './eventually.ts'

export const screenshots = 'var/screenshots'

/** The browser that pages are seen in; what it sees goes into `screenshots`. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, env } = await browserProgram(process)
  await mkdir(screenshots, { recursive: true })
  return chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] })
}

export type Visit = Awaited<ReturnType<typeof openVisit>>

/** A person with a browser of their own. */
export async function openVisit(browser: Browser, options: BrowserContextOptions) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US', ...options })
  context.setDefaultTimeout(patienceMs)
  const page = await context.newPage()
  /** Errors and warnings that the browser has told so far. */
  const complaints: string[] = []
  /** Every URL that was asked for. */
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  // What the content security policy forbids is told to the console, too.
  page.on('console', (message) => {
    const isExpected = /Failed to load resource: the server responded with a status of 4/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) complaints.push(message.text())
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  return { page, complaints, requested, close: () => context.close() }
}

/** How far the page is wider than its window, in pixels. */
export const overhangOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

export const screenshotOf = async (page: Page, name: string): Promise<void> => {
  const take = (): Promise<unknown> => page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true })
  // Chromium cannot always, on a busy machine; nothing is judged by the picture.
  await take().catch(take)
}

type Finding = {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** What keeps people from using the page as it stands now, as axe sees it. */
export async function barriersOn(page: Page): Promise<string[]> {
  // Evaluated by the browser itself, since the page's policy lets no foreign script in.
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const { violations, incomplete } = await page.evaluate<{ violations: Finding[]; incomplete: Finding[] }>('axe.run()')
  return [...violations, ...incomplete].flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
