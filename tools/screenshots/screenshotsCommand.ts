import { mkdir, readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { chromium } from 'playwright-core'
import type { DemoFile } from '../sample/demoFile.ts'
import { signInLink } from '../sample/signIn.ts'
import { teams } from '../sample/teams.ts'
import { browserProgram } from './browserProgram.ts'

const viewport = { width: 1_100, height: 700 }

export const command = new Command()
  .option('--demo <path>', 'what the running demo has written', 'var/demo.json')
  .option('--status <url>', "the status page of the demo's indexer", 'http://127.0.0.1:9102/status')
  .option('--to <path>', 'the folder of the pictures', 'docs/screenshots')
  .action(async ({ demo, status, to }: { demo: string; status: string; to: string }) => {
    const { baseUrl, keys, settingsUrl, signInSecret } = JSON.parse(await readFile(demo, 'utf8')) as DemoFile
    await mkdir(to, { recursive: true })
    const { executablePath, env } = await browserProgram(process)
    const browser = await chromium.launch({ executablePath, env: { ...process.env, ...env }, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage({ viewport, locale: 'en-US', colorScheme: 'light' })
      const take = async (name: string, url: string, prepare?: () => Promise<void>): Promise<void> => {
        await page.goto(url)
        await prepare?.()
        await page.waitForLoadState('networkidle')
        await page.screenshot({ path: `${to}/${name}.png` })
        process.stdout.write(`${to}/${name}.png\n`)
      }
      await take('front', String(new URL('/', baseUrl)))
      await take('docs', String(new URL('/docs', baseUrl)))
      await take('explore', String(new URL('/explore', baseUrl)), async () => {
        await page.locator('#key').fill(keys[1]?.key ?? '')
        await page.getByLabel('30 days').check()
        await page.locator('#key').press('Enter')
        await page.locator('#numbers td').first().waitFor()
        await page.evaluate('document.querySelector("#chart").scrollIntoView({ block: "center" })')
      })
      await take('status', `${status}?refresh=off`)
      const [team] = teams
      const link = await signInLink({ settingsUrl, secret: signInSecret }, team?.id ?? '', Date.now())
      await take('settings', link)
    } finally {
      await browser.close()
    }
  })
