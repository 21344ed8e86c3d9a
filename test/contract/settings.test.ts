import { randomUUID } from 'node:crypto'
import { documentId, type EntityId, type TeamId } from '../../src/core/model/ids.ts'
import { closing } from '../support/closing.ts'
import { sendRaw } from '../support/raw.ts'
import { plaintextIn, type SettingsAnswer, startTestSettings, useSettings, type Visitor } from '../support/settings.ts'

const { names, area } = useSettings()
const close = closing()

/** Every test has a team of its own. */
const ownTeam = (): Promise<Visitor> => area.signIn({ team: `team-${randomUUID()}` })
const titleOf = ({ text }: SettingsAnswer): string => /<h1>(.*?)<\/h1>/.exec(text)?.[1] ?? ''
const idsIn = ({ text }: SettingsAnswer): string[] => [
  ...new Set([...text.matchAll(/href="\.\/keys\/([^/"]+)\/delete"/g)].map(([, id]) => id ?? '')),
]

async function create(visitor: Visitor, name: string, expires = '', headers = {}) {
  const before = idsIn(await visitor.get('/keys'))
  const answer = await visitor.post('/keys', { ...(await visitor.hidden()), name, expires }, headers)
  const after = idsIn(await visitor.get('/keys'))
  return { answer, id: after.find((id) => !before.includes(id)) ?? '' }
}

describe('the keys of a team', () => {
  test('a new team has no keys; a created key is shown once, and then listed by its first characters', async () => {
    const visitor = await ownTeam()
    expect((await visitor.get('/keys')).text).toContain('No keys yet')
    const { answer } = await create(visitor, 'Nightly export', '2099-12-31')
    expect([answer.status, titleOf(answer)]).toEqual([200, 'Key “Nightly export” created'])
    const plaintext = plaintextIn(answer)
    const list = await visitor.get('/keys')
    expect(list.text).toContain(`${plaintext.slice(0, 13)}…`)
    expect(list.text).not.toContain(plaintext)
    expect(list.text).toContain('<time datetime="2099-12-31T23:59:59.999Z">Dec 31, 2099, 11:59 PM UTC</time>')
    expect(list.text).toContain('<strong>1 of 10</strong>')
    expect(area.log()).not.toContain(plaintext)
  })

  test('a key is revoked, and then deleted, after a page that says what will stop', async () => {
    const visitor = await ownTeam()
    const { id } = await create(visitor, 'Old')
    const { csrf } = await visitor.hidden()
    const question = await visitor.get(`/keys/${id}/revoke`)
    expect(titleOf(question)).toBe('Revoke “Old”?')
    expect(question.text).toContain('gets 401 from the next request on')
    const revoked = await visitor.post(`/keys/${id}/revoke`, { csrf })
    expect([revoked.status, revoked.headers['location']]).toEqual([303, '../../keys?notice=revoked'])
    expect((await visitor.get('/keys?notice=revoked')).text).toContain('The key is revoked and no longer works.')
    expect((await visitor.get(`/keys/${id}/revoke`)).headers['location']).toBe('../../keys?notice=revoked')

    expect((await visitor.get(`/keys/${id}/delete`)).text).toContain('frees its slot, and it cannot be undone')
    for (const _ of ['once', 'again']) {
      const deleted = await visitor.post(`/keys/${id}/delete`, { csrf })
      expect([deleted.status, deleted.headers['location']]).toEqual([303, '../../keys?notice=deleted'])
    }
    expect((await visitor.get('/keys')).text).toContain('<strong>0 of 10</strong>')
  })

  test('a team with ten keys sees an explanation in place of the form, and cannot create another', async () => {
    const visitor = await ownTeam()
    const hidden = await visitor.hidden()
    for (let at = 0; at < 10; at++) await create(visitor, `key ${at}`)
    const list = await visitor.get('/keys')
    expect(list.text).toContain('All ten slots are taken')
    expect(list.text).not.toContain('name="once"')
    const eleventh = await visitor.post('/keys', { ...hidden, name: 'eleventh', expires: '' })
    expect([eleventh.status, titleOf(eleventh)]).toEqual([409, 'Account keys'])
    expect(eleventh.text).toContain('All ten slots are taken')
  })

  test.each([
    ['a name of spaces', { name: '  ', expires: '' }, 'name', 'Enter a name of 1 to 100 characters.'],
    ['a day that has passed', { name: 'n', expires: '2020-01-01' }, 'expires', 'Choose today (UTC) or a later day'],
    ['a day that is none', { name: 'n', expires: '2099-02-30' }, 'expires', 'Choose today (UTC) or a later day'],
  ])('%s: the form comes back with the typed values and the problem', async (_, typed, field, why) => {
    const visitor = await ownTeam()
    const { answer } = await create(visitor, typed.name, typed.expires)
    expect(answer.status).toBe(422)
    expect(answer.text).toContain(`id="${field}-wrong">${why}`)
    const marked = `id="${field}"[^>]*aria-describedby="${field}-wrong ${field}-hint" aria-invalid`
    expect(answer.text).toMatch(new RegExp(marked))
    expect(answer.text).toContain(`name="expires" value="${typed.expires}"`)
    expect((await visitor.get('/keys')).text).toContain('<strong>0 of 10</strong>')
  })

  test('the changes of the keys are listed once, newest first, with their author, and only for the team', async () => {
    const team = `team-${randomUUID()}`
    const [ada, bob] = [await area.signIn({ team, sub: 'ada' }), await area.signIn({ team, sub: 'bob' })]
    expect((await ada.get('/keys')).text).not.toContain('changes-title')
    const { id } = await create(ada, '<Export>')
    const { csrf } = await bob.hidden()
    for (const change of ['revoke', 'revoke', 'delete', 'delete']) await bob.post(`/keys/${id}/${change}`, { csrf })
    const [, list = ''] = (await ada.get('/keys')).text.split('id="changes-title"')
    const changes = [...list.matchAll(/<li><strong>(\w+)<\/strong> (\S+) <code>.*?, by (\w+)<\/small>/g)]
    expect(changes.map(([, ...parts]) => parts)).toEqual([
      ['Deleted', '&#60;Export&#62;', 'bob'],
      ['Revoked', '&#60;Export&#62;', 'bob'],
      ['Created', '&#60;Export&#62;', 'ada'],
    ])
    expect((await (await ownTeam()).get('/keys')).text).not.toContain('Export')
  })

  test('keys are shown without numbers and changes if Redis cannot read them', async () => {
    const team = `team-${randomUUID()}`
    const visitor = await area.signIn({ team })
    await create(visitor, 'Export')
    const { client } = area.redis
    await client.set(
      area.redisKeys.feedUse(documentId(team as TeamId, idsIn(await visitor.get('/keys'))[0] as EntityId)),
      'wrong',
    )
    const { status, text } = await visitor.get('/keys')
    expect([status, text.includes('<h3>Export</h3>'), text.includes('Last 24 hours')]).toEqual([200, true, false])
    await client.del(area.redisKeys.keyChanges(team as TeamId))
    await client.set(area.redisKeys.keyChanges(team as TeamId), 'wrong')
    await create(visitor, 'Second')
    const listed = await visitor.get('/keys')
    expect([listed.text.includes('<h3>Second</h3>'), listed.text.includes('changes-title')]).toEqual([true, false])
  })

  test('a key may expire today', async () => {
    const today = new Date().toISOString().slice(0, 10)
    expect((await create(await ownTeam(), 'n', today)).answer.status).toBe(200)
  })

  test('typed text is shown as text on every page, even if it looks like markup', async () => {
    const visitor = await area.signIn({ team: `team-${randomUUID()}`, sub: '<script>alert(1)</script>' })
    const script = `"'><script>alert(1)</script>&lt;img src=x onerror=alert(1)>`
    const { answer, id } = await create(visitor, script)
    const refused = await visitor.post('/keys', { ...(await visitor.hidden()), name: script, expires: script })
    const pages = [answer, refused, await visitor.get('/keys'), await visitor.get(`/keys/${id}/delete`)]
    for (const { text } of pages) {
      expect(text).not.toMatch(/<script>|<img src=x/)
      expect(text).toContain('&#34;&#39;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;lt;img')
    }
  })

  test('a team sees and changes its own keys only: a key of another team is answered like an unknown key', async () => {
    const { id } = await create(await ownTeam(), 'theirs')
    const visitor = await ownTeam()
    const { csrf } = await visitor.hidden()
    const bodies = new Set<string>()
    for (const key of [id, 'key_unknown', 'a%2Fb', '%', '%00'])
      for (const change of ['revoke', 'delete'])
        for (const answer of [
          await visitor.get(`/keys/${key}/${change}`),
          await visitor.post(`/keys/${key}/${change}`, { csrf }),
        ]) {
          expect([key, answer.status, titleOf(answer)]).toEqual([key, 404, 'There is nothing here'])
          bodies.add(answer.text.replace(/<nav.*?<\/nav>/s, ''))
        }
    expect(bodies.size).toBe(1)
  })
})

describe('a key that is replaced', () => {
  const replace = (visitor: Visitor, id: string, hidden: { csrf: string; once: string }): Promise<SettingsAnswer> =>
    visitor.post(`/keys/${id}/replace`, hidden)
  const today = (): string => new Date().toISOString().slice(0, 10)

  test('gets a second key of its name, shown once; both keys work, and the card of the first shows what still uses it', async () => {
    const visitor = await ownTeam()
    const { id } = await create(visitor, 'Export', '2099-12-31')
    const hidden = await visitor.hidden()
    expect((await visitor.get('/keys')).text).toContain(`action="./keys/${id}/replace"`)
    const answer = await replace(visitor, id, hidden)
    expect([answer.status, titleOf(answer)]).toEqual([200, `Key “Export (${today()})” created`])
    expect(answer.text).toContain('“Export” still works.')
    expect(plaintextIn(await replace(visitor, id, hidden))).toBe(plaintextIn(answer))
    const { text } = await visitor.get('/keys')
    expect(text).toContain('<strong>2 of 10</strong>')
    expect(text).toContain(`Replaced by “Export (${today()})”. <strong>No use seen so far</strong>`)
    expect(text).not.toContain(`${id}/replace`)
    expect(text).not.toContain(plaintextIn(answer))
    expect(text.match(/<time datetime="2099-12-31T23:59:59.999Z"/g)).toHaveLength(2)
  })

  test('is refused with its reason while all slots are taken', async () => {
    const visitor = await ownTeam()
    const { id } = await create(visitor, 'key 0')
    const hidden = await visitor.hidden()
    for (let at = 1; at < 10; at++) await create(visitor, `key ${at}`)
    expect((await visitor.get('/keys')).text).not.toContain('/replace"')
    const refused = await replace(visitor, id, hidden)
    expect([refused.status, titleOf(refused)]).toEqual([409, 'Account keys'])
    expect(refused.text).toContain('The key was not replaced: all ten slots are taken.')
    expect(plaintextIn(refused)).toBe('')
  })

  test('must be an active one of the team', async () => {
    const visitor = await ownTeam()
    const { id } = await create(visitor, 'Export')
    const hidden = await visitor.hidden()
    const other = await ownTeam()
    for (const key of [id, 'key_unknown']) expect((await replace(other, key, await other.hidden())).status).toBe(404)
    await visitor.post(`/keys/${id}/revoke`, { csrf: hidden.csrf })
    expect((await replace(visitor, id, hidden)).status).toBe(404)
    expect((await visitor.get('/keys')).text).toContain('<strong>1 of 10</strong>')
    expect((await visitor.get(`/keys/${id}/replace`)).headers['allow']).toBe('POST')
  })
})

describe('a form that is sent twice', () => {
  test('shows its key if creating it took long, but no more when it is sent later, also if the clock was set back', async () => {
    let [aheadMs, stepMs] = [0, 0]
    const nowMs = () => {
      aheadMs += stepMs
      return Date.now() + aheadMs
    }
    const later = close(await startTestSettings(names, { nowMs }))
    const visitor = await later.signIn({ team: `team-${randomUUID()}` })
    const fields = { ...(await visitor.hidden()), name: 'reloaded', expires: '' }
    stepMs = 6_000
    const first = await visitor.post('/keys', fields)
    stepMs = 0
    const again = await visitor.post('/keys', fields)
    expect([again.status, titleOf(again), plaintextIn(again)]).toEqual([409, 'Key “reloaded” was shown already', ''])
    expect(plaintextIn(first)).not.toBe('')
    aheadMs = -11_000
    expect((await visitor.post('/keys', fields)).status).toBe(409)
  })

  test('creates no key after its key was deleted, but shows the reason and a new form', async () => {
    const visitor = await ownTeam()
    const hidden = await visitor.hidden()
    const fields = { ...hidden, name: 'gone', expires: '' }
    await visitor.post('/keys', fields)
    const [id = ''] = idsIn(await visitor.get('/keys'))
    await visitor.post(`/keys/${id}/delete`, { csrf: hidden.csrf })
    const again = await visitor.post('/keys', fields)
    expect([again.status, plaintextIn(again)]).toEqual([409, ''])
    expect(again.text).toContain('No key was created. Please try again.')
    expect(again.text).not.toContain(hidden.once)
  })

  test('needs the token that its page gave it', async () => {
    const visitor = await ownTeam()
    const { csrf } = await visitor.hidden()
    for (const token of ['', 'short', '<script>', 'x'.repeat(65)])
      expect((await visitor.post('/keys', { csrf, once: token, name: 'n', expires: '' })).status).toBe(403)
  })
})

describe('a forged form', () => {
  const targets = ['/keys', '/sign-out', '/keys/key_x/replace', '/keys/key_x/revoke', '/keys/key_x/delete']

  test.each<[string, Record<string, string>]>([
    ['from another origin', { origin: 'https://evil.example' }],
    ['from another port', { origin: 'http://127.0.0.1:1' }],
    ['from an origin that begins like ours', { origin: 'http://127.0.0.1.evil.example' }],
    ['from nowhere', { origin: 'null' }],
    ['without an origin', { origin: '' }],
    ['without an origin, from the same site', { origin: '', 'sec-fetch-site': 'same-site' }],
    ['without an origin, from another site', { origin: '', 'sec-fetch-site': 'cross-site' }],
  ])('%s is refused', async (_, headers) => {
    const visitor = await ownTeam()
    const fields = { ...(await visitor.hidden()), name: 'n', expires: '' }
    for (const target of targets) {
      const answer = await visitor.post(target, fields, headers)
      expect([answer.status, titleOf(answer)]).toEqual([403, 'Nothing was changed'])
    }
    expect((await visitor.get('/keys')).text).toContain('<strong>0 of 10</strong>')
  })

  test('without Origin, but with Sec-Fetch-Site: same-origin, is accepted', async () => {
    const { answer } = await create(await ownTeam(), 'n', '', { origin: '', 'sec-fetch-site': 'same-origin' })
    expect(answer.status).toBe(200)
  })

  test('without the token of its session, or with the token of another one, is refused', async () => {
    const visitor = await ownTeam()
    const { once: token, csrf } = await visitor.hidden()
    const { csrf: foreign } = await (await ownTeam()).hidden()
    for (const wrong of [{}, { csrf: '' }, { csrf: foreign }, { csrf: `${csrf}x` }, { csrf: csrf.slice(1) }])
      for (const target of targets) {
        const answer = await visitor.post(target, { ...wrong, once: token, name: 'n', expires: '' })
        expect([answer.status, titleOf(answer)]).toEqual([403, 'Nothing was changed'])
      }
  })

  test('of more than 16 KiB is refused', async () => {
    const visitor = await ownTeam()
    const { csrf } = await visitor.hidden()
    const large = await visitor.post('/keys', { csrf, name: 'x'.repeat(17_000) })
    expect([large.status, titleOf(large)]).toEqual([413, 'That is too much'])
    const chunked = await visitor.post('/keys', { csrf, name: 'x'.repeat(17_000) }, { 'transfer-encoding': 'chunked' })
    expect(chunked.status).toBe(413)
  })

  test('with malformed percent-encoding is read as text', async () => {
    const visitor = await ownTeam()
    const { csrf, once: token } = await visitor.hidden()
    const cookie = `tidemark-session=${visitor.jar.get('tidemark-session')}`
    const answer = await area.send('/keys', {
      method: 'POST',
      headers: { cookie, origin: area.origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: `csrf=${csrf}&once=${token}&name=%zz%e0%a4&expires=`,
    })
    expect([answer.status, titleOf(answer)]).toEqual([200, 'Key “%zz\ufffd” created'])
  })

  test('without a session, nothing is shown or changed', async () => {
    const visitor = area.visitor()
    for (const path of ['/keys', '/keys/key_x/revoke', '/keys/key_x/delete'])
      expect(titleOf(await visitor.get(path))).toBe('You are not signed in')
    for (const target of targets) expect((await visitor.post(target, { csrf: '' })).status).toBe(403)
    for (const id of ['x', '../x', 'A'.repeat(43)]) {
      visitor.jar.set('tidemark-session', id)
      expect((await visitor.get('/keys')).status).toBe(403)
    }
  })
})

test('every answer has the security headers', async () => {
  const visitor = await ownTeam()
  const { csrf } = await visitor.hidden()
  const style = /href="\.(\/assets\/[^"]+\.css)"/.exec((await visitor.get('/keys')).text)?.[1] ?? ''
  const { origin } = area
  const guarding = /^default-src 'none'; .*frame-ancestors 'none'; base-uri 'none'$/
  const asked: (readonly [number, Promise<SettingsAnswer>])[] = [
    [303, visitor.get('/')],
    ...['/keys', '/signed-out', style].map((path) => [200, visitor.get(path)] as const),
    [403, visitor.get('/sign-in?token=x')],
    ...['/nowhere', '/%', '//evil.example/..', '/assets/../package.json'].map(
      (path) => [404, visitor.get(path)] as const,
    ),
    ...[{ csrf }, {}].map((fields) => [403, visitor.post('/keys', fields)] as const),
    [403, visitor.post('/nowhere', {}, { origin: 'null' })],
    ...['PUT', 'OPTIONS'].map((method) => [405, area.send('/keys', { method, headers: { origin } })] as const),
    [431, area.send('/keys', { headers: { cookie: 'x'.repeat(20_000) } })],
  ]
  for (const [status, answer] of asked) {
    const { headers, ...answered } = await answer
    expect(answered.status).toBe(status)
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringMatching(guarding),
      'referrer-policy': expect.stringMatching(/^(same-origin|no-referrer)$/),
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'x-request-id': expect.any(String),
    })
    expect(headers).not.toHaveProperty('x-powered-by')
    if (!headers['content-type']?.startsWith('text/css')) expect(headers['cache-control']).toBe('no-store')
  }
})

const port = (): number => Number(new URL(area.origin).port)

test.each([
  ['no Host', 'GET /keys HTTP/1.1\r\n\r\n', '400 Bad Request'],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n', '405 Method Not Allowed'],
])('%s is refused, and its connection closed', async (_, bytes, status) => {
  const read = await sendRaw(port(), bytes)
  expect(read.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`)
  expect(read).toContain("Content-Security-Policy: default-src 'none'")
  expect(read.includes('\r\nAllow: GET, HEAD, POST\r\n')).toBe(status.startsWith('405'))
})

describe('the language', () => {
  const langOf = ({ text }: SettingsAnswer): string => /<html lang="([^"]+)"/.exec(text)?.[1] ?? ''

  test.each([
    ['', 'en'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-Hans'],
    ['fr, zh;q=0.3, en;q=0.5', 'en'],
    ['en;q=0, zh-TW', 'zh-Hans'],
  ])('of a browser that prefers "%s" is %s', async (header, language) => {
    expect(langOf(await area.visitor().get('/signed-out', { 'accept-language': header }))).toBe(language)
  })

  test('that was chosen is kept; an unknown one is not accepted', async () => {
    const visitor = area.visitor()
    const chosen = await visitor.get('/signed-out?language=zh-Hans', { 'accept-language': 'en' })
    const later = await visitor.get('/keys', { 'accept-language': 'en' })
    expect([langOf(chosen), langOf(later)]).toEqual(['zh-Hans', 'zh-Hans'])
    expect((await area.visitor().get('/signed-out?language=%0d%0aX:y')).cookies).toEqual([])
  })

  test.each(['//evil.example/', '///evil.example/', '/\\evil.example/', '//evil.example'])(
    'has links to its own origin only, also on the page of the path %s',
    async (path) => {
      const { status, text } = await area.visitor().get(path)
      expect(status).toBe(404)
      const links = [...text.matchAll(/href="([^"]*)"/g)].map(
        ([, href = '']) => new URL(href, area.origin + path).origin,
      )
      expect(links.length).toBeGreaterThan(1)
      expect(new Set(links)).toEqual(new Set([area.origin]))
    },
  )
})
