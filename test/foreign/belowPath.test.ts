import type { Page } from 'playwright-core'
import { useApi } from '../support/api.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { useSettings } from '../support/settings.ts'
import { signInClaims, signToken } from '../support/signIns.ts'
import { describeNginx, startNginx } from './support/nginx.ts'

const prefix = '/of/quiz/'
const api = useApi()
const pipeline = usePipeline()
const indexer = useStarted('the indexer', async () => {
  const program = await pipeline.startIndexer()
  return { adminUrl: program.adminUrl, close: () => program.end('SIGTERM') }
})
const { area } = useSettings()
const opened = useBrowser()

/** Each program below a path of its own, as a proxy for several has it. SETTINGS_URL, which names where forms come from, cannot know the port yet. */
const configure = (port: number): string =>
  `server {
    listen 127.0.0.1:${port};
    location ${prefix}api/ { proxy_pass http://127.0.0.1:${api.port}/; }
    location ${prefix}settings/ { proxy_pass ${area.origin}/; proxy_set_header Origin ${area.origin}; }
    location ${prefix}status/ { proxy_pass ${indexer.adminUrl}/; }
  }`

describeNginx('Below a path of a proxy', () => {
  const nginx = useStarted('nginx', () => startNginx(configure))
  /** Opens a page below the path, and expects at the end that nothing was asked for elsewhere, and that all was found. */
  async function visit(of: string, use: (page: Page, home: string) => Promise<void>) {
    const home = `${nginx.url}${prefix}${of}/`
    const { page, requested, complaints } = await opened.visit()
    const missing: string[] = []
    page.on('response', (answer) => {
      if (answer.status() === 404) missing.push(answer.url())
    })
    await page.goto(home)
    await use(page, home)
    expect(requested.filter((url) => !url.startsWith(home) && !url.startsWith('data:'))).toEqual([])
    expect([...missing, ...complaints]).toEqual([])
  }

  test('the pages of the API link to each other, and call the API below that path', async () => {
    await visit('api', async (page, home) => {
      expect(await page.locator('textarea').inputValue()).toContain(`"${home}api/v1/forms?limit=1"`)
      await page.getByRole('link', { name: '简体中文' }).click()
      await page.getByText('第一个请求').waitFor()
      await page.getByRole('link', { name: 'Tidemark API' }).click()
      await page.getByRole('link', { name: 'OpenAPI description' }).click()
      await page.waitForURL(`${home}api/v1/openapi.json`)
      await page.goto(`${home}docs/`)
      await page.locator('.opblock').first().waitFor()
      expect(page.url()).toBe(`${home}docs`)
      await page.locator('.authorize').first().click()
      await page.locator('.auth-container input').fill(api.key)
      await page.locator('.modal-btn.authorize').click()
      await page.locator('.btn-done').click()
      await page.locator('.opblock-summary-control').first().click()
      await page.locator('.try-out__btn').click()
      await page.locator('.execute').click()
      await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
      await page.goto(home)
      await page.getByRole('link', { name: 'Explore submissions' }).click()
      await page.locator('#key').fill(api.key)
      await page.locator('#key').press('Enter')
      await page.getByText('Forms found: 0').waitFor()
      await page.getByText('Submissions: 0').waitFor()
    })
  })

  test('an owner signs in, creates a key, revokes and deletes it, and signs out', async () => {
    await visit('settings', async (page, home) => {
      await page.goto(`${home}sign-in?token=${await signToken(signInClaims(Date.now(), {}))}`)
      await page.waitForURL(`${home}keys`)
      await page.locator('#name').fill('Dashboard')
      await page.locator('form.create button').click()
      await page.locator('#key').waitFor()
      await page.locator('main a.button').click()
      await page.waitForURL(`${home}keys`)
      for (const [change, notice] of [
        ['revoke', 'revoked'],
        ['delete', 'deleted'],
      ] as const) {
        await page.locator(`a[href$="/${change}"]`).first().click()
        await page.getByRole('link', { name: '简体中文' }).click()
        await page.waitForURL(new RegExp(`${home}keys/[^/]+/${change}.language=zh`))
        await page.getByRole('link', { name: 'English' }).click()
        await page.locator('main form button').click()
        await page.waitForURL(`${home}keys?notice=${notice}`)
      }
      await page.locator('.bar form button').click()
      await page.waitForURL(`${home}signed-out`)
    })
  })

  test('the status page shows and refreshes itself', async () => {
    await visit('status', async (page, home) => {
      await page.waitForURL(`${home}status`)
      await page.getByRole('link', { name: 'Pause' }).click()
      await page.getByRole('link', { name: 'Resume' }).click()
      await page.waitForURL(`${home}status`)
      await eventually(async () => (await page.locator('link[rel=stylesheet]').getAttribute('href')) === './status.css')
    })
  })
})
