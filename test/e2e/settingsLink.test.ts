import { usePipeline } from '../support/pipeline.ts'
import { type Program, type Run, runCommand, startProgram, untilReady } from '../support/programs.ts'
import { signInClaims, signInSettings, signToken } from '../support/signIns.ts'
import { useFolder } from '../support/temporaryFolder.ts'

const settingsUrl = 'http://127.0.0.1:3999'

const pipeline = usePipeline({ forEachTest: true })
const folder = useFolder({ forEachTest: true })
beforeEach(() => pipeline.startIndexer())

/** The settings area as `docker compose up` starts it. */
async function startArea(signIn: Readonly<Record<string, string>>): Promise<Program> {
  // Compose hands over what nobody has set as empty.
  const unset = { SIGN_IN_SECRET: '', SIGN_IN_JWKS_URL: '', SIGN_IN_ISSUER: '', SIGN_IN_AUDIENCE: '', SIGN_IN_PAGE: '' }
  const environment = { ...pipeline.names, SETTINGS_URL: settingsUrl, ...unset, ...signIn }
  const area = await startProgram('sample-settings', environment, ['--folder', folder])
  await untilReady(area)
  return area
}
const link = (): Promise<Run> => runCommand('sign-in', ['--folder', folder], {})
const follow = (area: Program, token: string): Promise<Response> =>
  fetch(`${area.url}/sign-in?token=${token}`, { redirect: 'manual' })
const visit = async (area: Program, token: string): Promise<[number, string | null]> => {
  const { status, headers } = await follow(area, token)
  return [status, headers.get('location')]
}

test('without a configured product, the command prints sign-in links; a restart ends older links, but no session', async () => {
  const area = await startArea({})
  const tokens = await Promise.all(
    [link(), link()].map(async (printed) => {
      const { code, stdout } = await printed
      expect([code, stdout.startsWith(`${settingsUrl}/sign-in?token=`)]).toEqual([0, true])
      return stdout.trim().slice(`${settingsUrl}/sign-in?token=`.length)
    }),
  )
  const [used = '', kept = ''] = tokens
  const signedIn = await follow(area, used)
  expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, './keys'])
  const next = await startArea({})
  expect(await visit(next, kept)).toEqual([403, null])
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  expect((await fetch(`${next.url}/keys`, { headers: { cookie }, redirect: 'manual' })).status).toBe(200)
})

test('with a configured product, only its links are accepted, and the command prints none', async () => {
  await startArea({})
  const area = await startArea(signInSettings)
  expect(await link()).toMatchObject({ code: 1, stderr: expect.stringContaining(folder) })
  expect(await visit(area, await signToken(signInClaims(Date.now())))).toEqual([303, './keys'])
})
