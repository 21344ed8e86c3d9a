import { randomUUID } from 'node:crypto'
import { closing } from '../support/closing.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startRelay } from '../support/relay.ts'
import {
  plaintextIn,
  type SettingsAnswer,
  startTestSettings,
  type TestSettings,
  useSettings,
  type Visitor,
} from '../support/settings.ts'
import { signInClaims, signToken } from '../support/signIns.ts'

const redisRelay = useStarted('the relay', () => startRelay(process.env['REDIS_URL']))
const { names, area } = useSettings(() => ({ REDIS_URL: redisRelay.url }))

const close = closing()

const expectUnavailable = ({ status, headers, text }: SettingsAnswer): void => {
  expect([status, headers['retry-after']]).toEqual([503, '5'])
  expect(text).toMatch(/trying again (from here )?is safe|both are safe/i)
}

test('without Redis every page answers 503, and neither a link nor a form is used up', async () => {
  const visitor = await area.signIn({ team: `team-${randomUUID()}` })
  const { csrf, once } = await visitor.hidden()
  const token = await signToken(signInClaims(Date.now()))
  redisRelay.cut()
  expectUnavailable(await visitor.get('/keys'))
  expectUnavailable(await visitor.post('/keys', { csrf, once, name: 'n', expires: '' }))
  expectUnavailable(await visitor.post('/sign-out', { csrf }))
  expectUnavailable(await area.visitor().get(`/sign-in?token=${token}`))
  redisRelay.restore()
  await eventually(async () => (await visitor.get('/keys')).status === 200)
  expect((await area.visitor().get(`/sign-in?token=${token}`)).status).toBe(303)
  expect(plaintextIn(await visitor.post('/keys', { csrf, once, name: 'n', expires: '' }))).not.toBe('')
  expect(area.log()).not.toContain(once)
})

test('while the account keys are not complete, none are shown', async () => {
  const visitor = await area.signIn()
  const { csrf, once } = await visitor.hidden()
  const runId = await area.redis.client.get(area.redisKeys.accountKeysComplete)
  await area.redis.client.del(area.redisKeys.accountKeysComplete)
  expectUnavailable(await visitor.get('/keys'))
  expectUnavailable(await visitor.post('/keys', { csrf, once, name: 'n', expires: '' }))
  await area.redis.client.set(area.redisKeys.accountKeysComplete, runId ?? '')
  expect((await visitor.get('/keys')).status).toBe(200)
})

describe('without Kafka', () => {
  const cutOff = useStarted('the other area', () => {
    const settings = { ...names, SETTINGS_URL: area.origin, KAFKA_BROKERS: '127.0.0.1:1' }
    return startTestSettings(settings, { awaitReady: false })
  })

  /** The same owner, in the same session, at another settings area: by default the one that has lost Kafka. */
  const elsewhere = (visitor: Visitor, at: Pick<TestSettings, 'visitor'> = cutOff): Visitor => {
    const other = at.visitor()
    for (const [name, value] of visitor.jar) other.jar.set(name, value)
    return other
  }

  test('no key is created; the page says that this is uncertain, and that the form can be sent again', async () => {
    const visitor = await area.signIn({ team: `team-${randomUUID()}` })
    const fields = { ...(await visitor.hidden()), name: 'Export', expires: '2099-01-01' }
    const failed = await elsewhere(visitor).post('/keys', fields)
    expectUnavailable(failed)
    expect(failed.text).toContain(`name="once" value="${fields.once}"`)
    expect(failed.text).toContain('value="Export"')
    const again = await visitor.post('/keys', fields)
    expect([again.status, plaintextIn(again)]).toEqual([409, ''])
    const once = /name="once" value="([^"]+)"/.exec(again.text)?.[1] ?? ''
    expect(plaintextIn(await visitor.post('/keys', { ...fields, once }))).not.toBe('')
    expect((await visitor.get('/keys')).text).toContain('<strong>1 of 10</strong>')
  })

  test('a revoked or deleted key stops all the same, and a second try completes the change', async () => {
    const visitor = await area.signIn({ team: `team-${randomUUID()}` })
    await visitor.post('/keys', { ...(await visitor.hidden()), name: 'Export', expires: '' })
    const { csrf } = await visitor.hidden()
    const id = /\/keys\/([^/"]+)\/delete/.exec((await visitor.get('/keys')).text)?.[1] ?? ''
    for (const change of ['revoke', 'delete']) {
      expectUnavailable(await elsewhere(visitor).post(`/keys/${id}/${change}`, { csrf }))
      const listed = await visitor.get('/keys')
      expect(listed.text).toContain(change === 'revoke' ? 'data-variant="secondary"' : '<strong>0 of 10</strong>')
      expect((await visitor.post(`/keys/${id}/${change}`, { csrf })).status).toBe(303)
    }
  })

  test('a revocation is completed when anybody opens the keys a minute later', async () => {
    const visitor = await area.signIn({ team: `team-${randomUUID()}` })
    await visitor.post('/keys', { ...(await visitor.hidden()), name: 'Export', expires: '' })
    const { csrf } = await visitor.hidden()
    const id = /\/keys\/([^/"]+)\/delete/.exec((await visitor.get('/keys')).text)?.[1] ?? ''
    expectUnavailable(await elsewhere(visitor).post(`/keys/${id}/revoke`, { csrf }))
    const settings = { ...names, SETTINGS_URL: area.origin }
    const later = close(await startTestSettings(settings, { nowMs: () => Date.now() + 61_000 }))
    await elsewhere(visitor, later).get('/keys')
    await eventually(() => later.log().includes('account key changed'))
  })
})
