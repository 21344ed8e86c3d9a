import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { barriersOn, overhangOf, useBrowser, type Visit } from '../support/browser.ts'

/** Opened as a reader does, from the file system. */
const url = pathToFileURL('docs/scale/index.html').href
const opened = useBrowser()

async function visit(options: BrowserContextOptions = {}): Promise<Visit> {
  const visited = await opened.visit(options)
  await visited.page.goto(url)
  return visited
}

/** The values of a row, by its name. */
const valuesOf = (page: Page, name: string): Promise<string[]> =>
  page
    .locator('#results tr')
    .filter({ has: page.getByRole('rowheader', { name }) })
    .getByRole('cell')
    .allInnerTexts()

test('the page has the numbers of docs/scale.md', async () => {
  const { page, complaints, requested } = await visit()
  const [, table = ''] = /<!-- scale results -->([\s\S]*?)<!-- end/.exec(await readFile('docs/scale.md', 'utf8')) ?? []
  const [, , ...lines] = table.trim().split('\n')
  expect(lines.length).toBeGreaterThan(15)
  const shown = await page.locator('#results tbody tr').evaluateAll((rows) =>
    rows.map((row) => {
      const [header, ...cells] = [...row.children].map((cell) => cell.firstChild?.textContent ?? '')
      return [header, ...cells.slice(0, 3)].join(' | ')
    }),
  )
  for (const line of lines) expect(shown).toContain(line.replaceAll(/[*`]|^\| | \|$/g, ''))
  expect(requested.filter((one) => !one.startsWith('file:'))).toEqual([])
  expect(complaints).toEqual([])
})

test('a number that is typed changes the row, by keyboard alone', async () => {
  const { page } = await visit()
  const type = async (name: string, text: string): Promise<void> => {
    await page.getByRole('spinbutton', { name, exact: true }).focus()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type(text)
  }
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type('1000')
  expect(await page.getByRole('status').innerText()).toBe('Calculated for 1,000 million submissions.')
  const disks = await valuesOf(page, 'disks of the data nodes')
  expect(disks).toEqual(['89 GB', '890 GB', '8.9 TB', '8.9 TB'])
  await type('replicas', '0')
  expect(await valuesOf(page, 'disks of the data nodes')).toEqual(['45 GB', '445 GB', '4.5 TB', '4.5 TB'])
  await type('members of a rebuild', '8')
  expect(await valuesOf(page, 'rebuild, 8 members')).toHaveLength(4)
  await type('submissions verified a second slower machine 27 November 2026', '2420')
  expect(await valuesOf(page, 'verification, 1 share')).toEqual(['69 min', '11 h', '4.8 days', '4.8 days'])
  await page.getByRole('button', { name: 'Reset all numbers' }).press('Enter')
  expect((await valuesOf(page, 'disks of the data nodes'))[2]).toBe('8.9 TB')
  expect(await valuesOf(page, 'rebuild, 8 members')).toEqual([])
})

test('no results for a number that is not valid; the status names it and its bounds', async () => {
  const { page } = await visit()
  const field = page.getByLabel('used of a disk at most, %')
  for (const text of ['0', '101', '']) {
    await field.fill(text)
    expect(await page.getByRole('status').innerText()).toBe(
      'Not calculated: “used of a disk at most, %” must be a number from 1 to 100.',
    )
    expect(await page.locator('#results').isVisible()).toBe(false)
    expect(await field.getAttribute('aria-invalid')).toBe('true')
  }
  expect(await barriersOn(page)).toEqual([])
  await field.fill('80')
  expect(await page.locator('#results').isVisible()).toBe(true)
})

test.each([
  { width: 320, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
  { width: 1_280, colorScheme: 'light' },
  { width: 1_280, colorScheme: 'dark' },
] as const)('the page is accessible: $width pixels, $colorScheme', async ({ width, colorScheme }) => {
  const { page } = await visit({ viewport: { width, height: 800 }, colorScheme })
  expect(await barriersOn(page)).toEqual([])
  expect(await page.getByRole('cell', { name: '8.9 TB' }).count()).toBe(1)
})

test('the page is never wider than the window', async () => {
  const { page } = await visit()
  for (const width of [320, 500, 768, 1_024, 1_280, 1_440]) {
    await page.setViewportSize({ width, height: 800 })
    expect([width, await overhangOf(page)]).toEqual([width, 0])
  }
})

test('paper has results and assumptions in light colours, without the button', async () => {
  const { page } = await visit({ colorScheme: 'dark' })
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)')
  for (const shown of ['#results', '#assumptions', '#costs']) expect(await page.locator(shown).isVisible()).toBe(true)
  expect(await page.getByRole('button').count()).toBe(0)
})
