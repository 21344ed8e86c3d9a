import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { digestOf } from '../../src/core/model/accountKey.ts'
import { barriersOn, overhangOf, useBrowser } from '../support/browser.ts'
import { accountKeyRecord } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { probe, startProgram } from '../support/programs.ts'
import { signInClaims, signInSettings, signToken } from '../support/signIns.ts'

const narrow = { width: 320, height: 700 }
const pipeline = usePipeline()
const { visit } = useBrowser()
beforeAll(() => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi())
beforeAll(() => fillSlots(fullTeam))
const area = useStarted('the settings area', () =>
  pipeline.startSettings({ ...signInSettings, SIGN_IN_PAGE: 'https://quiz.example/keys' }),
)

const fullTeam = 'team_full'

/** Gives a team ten keys in every state, as another program would. */
async function fillSlots(team: string): Promise<void> {
  const recordOf = (at: number): string =>
    accountKeyRecord({
      ...{ id: `k${at}`, name: `Worker ${at}`, digest: digestOf(`${team}${at}`), start: `rqp_acct_w${at}` },
      createdBy: 'ada@harborlight.example',
      expiresAt: at === 5 ? '2026-02-28T23:59:59.999Z' : null,
      ...(at === 3 && {
        state: 'revoked',
        revokedAt: '2026-03-01T10:00:00.000Z',
        revokedBy: 'ada@harborlight.example',
      }),
    })
  const messages = Array.from({ length: 10 }, (_, at) => ({ key: `${team}/k${at}`, value: recordOf(at) }))
  await pipeline.produce('account-keys', messages)
}

async function signIn(page: Page, team = `team_${randomUUID().slice(0, 8)}`): Promise<void> {
  const token = await signToken(signInClaims(Date.now(), { team, sub: 'ada@harborlight.example' }))
  await page.goto(`${area.url}/sign-in?token=${token}`)
  expect(page.url()).toBe(`${area.url}/keys`)
}

const fill = async (page: Page, name: string, expires = ''): Promise<void> => {
  await page.locator('#name').fill(name)
  await page.locator('#expires').fill(expires)
}
const submit = (page: Page): Promise<void> => page.locator('form.create button').click()
async function create(page: Page, name: string, expires = ''): Promise<string> {
  await fill(page, name, expires)
  await submit(page)
  const plaintext = (await page.locator('#key').textContent()) ?? ''
  expect(plaintext).toMatch(/^rqp_acct_[A-Za-z0-9_-]{43}$/)
  return plaintext
}
const backToKeys = (page: Page): Promise<void> => page.locator('main p > a.button').click()
const heading = (page: Page): Promise<string> => page.locator('h1').innerText()
const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${api.url}/api/v1/forms`, { headers: { authorization: `Bearer ${key}` } })).status

test('an owner creates a key, uses it, revokes it and deletes it', async () => {
  const { page, complaints, requested } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] })
  await signIn(page)
  const plaintext = await create(page, 'Nightly export')
  expect(await statusWith(plaintext)).toBe(200)
  await page.locator('button[data-copy]').click()
  await page.getByText('Copied', { exact: true }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(plaintext)
  await backToKeys(page)
  expect(await page.content()).not.toContain(plaintext)
  const lastUse = page.locator('.facts div', { hasText: 'Last used' }).locator('time')
  expect(Date.now() - Date.parse((await lastUse.getAttribute('datetime')) ?? '')).toBeLessThan(120_000)

  await page.getByRole('link', { name: 'Revoke Nightly export' }).click()
  await page.getByRole('button', { name: 'Revoke key' }).click()
  expect(await page.getByRole('alert').innerText()).toBe('The key is revoked and no longer works.')
  expect(await statusWith(plaintext)).toBe(401)
  expect(await page.locator('.slots strong').innerText()).toBe('1 of 10')

  await page.getByRole('link', { name: 'Delete Nightly export' }).click()
  await page.getByRole('button', { name: 'Delete key' }).click()
  expect(await page.locator('.slots strong').innerText()).toBe('0 of 10')
  await page.getByRole('button', { name: 'Sign out' }).click()
  expect(await heading(page)).toBe('You are signed out')
  await page.goBack()
  expect(await heading(page)).toBe('You are not signed in')

  expect(complaints).toEqual([])
  expect(requested.filter((url) => !url.startsWith(`${area.url}/`))).toEqual([])
  expect(area.log()).not.toContain(plaintext)
})

test.each([true, false])(
  'an owner replaces a key, and revokes it once nothing uses it (JavaScript: %s)',
  async (javaScriptEnabled) => {
    const expectGood = async (): Promise<void> => {
      if (!javaScriptEnabled) return
      await page.setViewportSize(narrow)
      expect([await barriersOn(page), await overhangOf(page)]).toEqual([[], 0])
    }
    await pipeline.createKeys(['team_waiting'])
    await pipeline.untilApplied(api, 'team_waiting')
    const { page, complaints } = await visit({ javaScriptEnabled })
    await signIn(page)
    const plaintext = await create(page, 'Nightly export')
    const another = await pipeline.startApi({ RATE_LIMIT_PER_MINUTE: '3' })
    const statuses: number[] = []
    for (const path of ['forms', 'forms?limit=0', 'record-changes', 'forms'])
      statuses.push(
        (await fetch(`${another.url}/api/v1/${path}`, { headers: { authorization: `Bearer ${plaintext}` } })).status,
      )
    expect(statuses).toEqual([200, 400, 200, 429])
    // A process that stops shares what it has counted.
    await another.end('SIGTERM')
    await backToKeys(page)
    const card = page.locator('.key', { has: page.getByRole('heading', { name: 'Nightly export', exact: true }) })
    expect(await card.locator('.facts').innerText()).toMatch(
      /About 4 requests\s+1 refused: too many at once \(429\)\s+1 not understood \(400\)\s+Changes of submissions\s+Read up to/,
    )
    await expectGood()

    await card.getByRole('button', { name: 'Replace Nightly export' }).click()
    const today = new Date().toISOString().slice(0, 10)
    expect(await heading(page)).toBe(`Key “Nightly export (${today})” created`)
    const replacement = (await page.locator('#key').textContent()) ?? ''
    for (const key of [plaintext, replacement]) expect(await statusWith(key)).toBe(200)
    await expectGood()
    await backToKeys(page)
    await expectGood()
    expect(await card.locator('.replaced').innerText()).toMatch(
      /^Replaced by “Nightly export \(.*\)”\. About [45] requests in the last hour\. Last used [123] minutes? ago\.$/,
    )
    await card.getByRole('link', { name: 'Revoke Nightly export' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    for (const [key, status] of [
      [plaintext, 401],
      [replacement, 200],
    ] as const)
      expect(await statusWith(key)).toBe(status)
    const changes = await page.locator('.changes li strong').allInnerTexts()
    expect(changes).toEqual(['Revoked', 'Created', 'Created'])
    expect(complaints).toEqual([])
  },
)

test.each([true, false])('a double click makes one key (JavaScript: %s)', async (javaScriptEnabled) => {
  const { page } = await visit({ javaScriptEnabled })
  await signIn(page)
  await fill(page, 'Once')
  await page.locator('form.create button').dblclick()
  await page.locator('#key').waitFor()
  await page.goto(`${area.url}/keys`)
  expect(await page.locator('.slots strong').innerText()).toBe('1 of 10')
})

test('everything can be done without JavaScript, and by keyboard alone', async () => {
  const { page } = await visit({ javaScriptEnabled: false })
  await signIn(page)
  await page.locator('#name').focus()
  await page.keyboard.type('By hand')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Key “By hand” created' }).waitFor()
  expect(await page.locator('button[data-copy]').isVisible()).toBe(false)
  await backToKeys(page)
  await page.getByRole('button', { name: 'Replace By hand' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Key “By hand (' }).waitFor()
  await backToKeys(page)
  await page.getByRole('link', { name: 'Delete By hand', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Delete key' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  expect(await page.locator('.slots strong').innerText()).toBe('1 of 10')
})

test('a form of another site changes nothing, and a link of another site signs in', async () => {
  const { page } = await visit()
  await signIn(page)
  const csrf = await page.locator('form.create [name=csrf]').inputValue()
  const once = await page.locator('[name=once]').inputValue()
  // Another port is the same site, so that the browser sends the cookie along.
  const foreign = `<form method="post" action="${area.url}/keys"><input name="csrf" value="${csrf}">
    <input name="once" value="${once}"><input name="name" value="forged"><button>go</button></form>`
  await page.route('http://127.0.0.1:1/**', (route) => route.fulfill({ contentType: 'text/html', body: foreign }))
  await page.goto('http://127.0.0.1:1/')
  await page.locator('button').click()
  await page.waitForURL(`${area.url}/keys`)
  expect(await heading(page)).toBe('Nothing was changed')
  const token = await signToken(signInClaims(Date.now()))
  const link = `<a href="${area.url}/sign-in?token=${token}">keys</a>`
  await page.unroute('http://127.0.0.1:1/**')
  await page.route('https://quiz.example/**', (route) => route.fulfill({ contentType: 'text/html', body: link }))
  await page.goto('https://quiz.example/')
  await page.locator('a').click()
  await page.waitForURL(`${area.url}/keys`)
  expect(await heading(page)).toBe('Account keys')
})

const english = { list: 'Keys of the team', created: 'Key “Dashboard” created' }
describe.each([
  ['light-narrow', { viewport: narrow, colorScheme: 'light' }, english],
  ['dark-chinese', { locale: 'zh-CN', colorScheme: 'dark' }, { list: '团队的密钥', created: '密钥“Dashboard”已创建' }],
] as const)('every page, %s', (look, options, words) => {
  const expectGood = async (page: Page): Promise<void> => {
    expect(await barriersOn(page)).toEqual([])
    expect(await overhangOf(page)).toBe(0)
  }

  test('is accessible', async () => {
    const { page, complaints } = await visit(options)
    await page.goto(`${area.url}/keys`)
    await expectGood(page)
    await page.goto(`${area.url}/sign-in?token=x`)
    await expectGood(page)

    await signIn(page, `team_${look}`)
    await expectGood(page)
    await create(page, 'Dashboard')
    expect(await heading(page)).toBe(words.created)
    await expectGood(page)
    await backToKeys(page)

    await create(page, 'Nightly export to the warehouse of the analytics group', '2099-12-31')
    await backToKeys(page)
    const used = await create(page, 'CRM 同步')
    expect(await statusWith(used)).toBe(200)
    await backToKeys(page)
    await page.locator('.key').first().locator('form button').click()
    await expectGood(page)
    await backToKeys(page)
    await page.locator('.key').first().locator('a').first().click()
    await expectGood(page)
    await page.locator('main form button').click()
    await expectGood(page)
    await page.goto(`${area.url}/keys`)
    expect(await page.locator('#list-title').innerText()).toBe(words.list)
    await expectGood(page)

    await page.evaluate('document.querySelector("form.create").noValidate = true')
    await fill(page, 'Late', '2020-01-01')
    await submit(page)
    await page.locator('#expires-wrong').waitFor()
    await expectGood(page)

    await signIn(page, fullTeam)
    await expectGood(page)
    await page.locator('.key').first().locator('a[data-variant=danger]').click()
    await expectGood(page)
    await page.goto(`${area.url}/nowhere`)
    await expectGood(page)
    await page.goto(`${area.url}/keys`)
    await page.locator('.bar form button').click()
    await page.waitForURL(`${area.url}/signed-out`)
    await expectGood(page)
    expect(complaints).toEqual([])
  })
})

test('the settings area stops on SIGTERM, also without Kafka', async () => {
  const settings = { ...pipeline.names, ...signInSettings, KAFKA_BROKERS: '127.0.0.1:1' }
  const program = await startProgram('settings', settings)
  await eventually(async () => (await fetch(`${program.url}/keys`).catch(() => undefined))?.status === 403)
  expect(await probe(program, 'readyz')).toMatchObject({ code: 200, body: { checks: { kafka: { ok: false } } } })
  const askedMs = Date.now()
  expect(await program.end('SIGTERM')).toBe(0)
  expect(Date.now() - askedMs).toBeLessThan(10_000)
})
