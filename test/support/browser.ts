import { access, mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'

const browserPath = '/usr/bin/chromium'
export const screenshots = 'var/screenshots'

/** The browser that pages are seen in; what it sees goes into `screenshots`. */
export async function launchBrowser(): Promise<Browser> {
  await access(browserPath).catch(() => {
    throw new Error(`there is no ${browserPath}: install Debian's package "chromium"`)
  })
  await mkdir(screenshots, { recursive: true })
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
}

export const screenshotOf = async (page: Page, name: string): Promise<void> => {
  await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true })
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
