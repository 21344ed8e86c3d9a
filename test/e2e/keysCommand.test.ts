import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { accountKeyPrefix, digestOf } from '../../src/core/model/accountKey.ts'
import { accountKeyRecord } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Run, runCommand } from '../support/programs.ts'

const pipeline = usePipeline()
const indexer = useStarted('the indexer', () => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi())

/** Runs the command as a user does. */
const keys = (args: readonly string[], settings: Record<string, string> = {}): Promise<Run> =>
  runCommand('keys', args, { ...pipeline.names, ...settings })
const idIn = ({ stderr }: Run): string => /key_[A-Za-z0-9_-]+/.exec(stderr)?.[0] ?? ''
const statusWith = async (plaintext: string): Promise<number> =>
  (await fetch(`${api.url}/api/v1/forms`, { headers: { authorization: `Bearer ${plaintext}` } })).status

test('an operator creates a key, uses, lists, revokes and deletes it', async () => {
  const applied = (): Promise<number> => indexer.metric('tidemark_records_total', 'account-keys')
  const before = await applied()
  const created = await keys(['create', '--team', 'acme', '--name', 'Dash\u001b[31mboard'])
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rqp_acct_[A-Za-z0-9_-]{43}\n$/) })
  const [plaintext, id] = [created.stdout.trim(), idIn(created)]
  expect(await statusWith(plaintext)).toBe(200)

  const listed = await keys(['list', '--team', 'acme'])
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(id) })
  expect(listed.stdout).toMatch(/active.*rqp_acct_.{4}\t.*never/)
  expect(listed.stdout).not.toContain('\u001b')

  const { stdout } = await keys(['list', '--team', 'acme', '--json'])
  const start = plaintext.slice(0, 'rqp_acct_'.length + 4)
  expect(JSON.parse(stdout)).toEqual({
    ...{ id, name: 'Dash\u001b[31mboard', state: 'active', start, expiresAt: null, revokedAt: null, revokedBy: null },
    ...{ createdAt: expect.any(String), createdBy: expect.any(String), lastUsedAt: expect.any(String) },
  })
  expect(stdout).toMatch(/^.*\n$/)

  expect(await keys(['revoke', '--team', 'acme', '--id', id])).toMatchObject({ code: 0, stdout: '' })
  expect(await statusWith(plaintext)).toBe(401)
  expect((await keys(['list', '--team', 'acme'])).stdout).toContain('revoked')

  expect(await keys(['delete', '--team', 'acme', '--id', id])).toMatchObject({ code: 0, stdout: '' })
  expect((await keys(['list', '--team', 'acme'])).stdout).not.toContain(id)
  expect(await statusWith(plaintext)).toBe(401)

  await eventually(async () => (await applied()) === before + 3)
  for (const output of [listed.stdout, created.stderr, indexer.log(), api.log()])
    expect(output).not.toContain(plaintext)
})

test('control characters that a producer wrote into a key do not reach the terminal', async () => {
  const [team, plaintext] = ['painted', `${accountKeyPrefix}painted`]
  const texts = { name: 'n\u001b[2J', start: 'rqp\u001b[31m', createdBy: 'x\u0007\u009b1m' }
  const value = accountKeyRecord({ ...texts, id: 'k', digest: digestOf(plaintext), expiresAt: null })
  await pipeline.produce('account-keys', [{ key: `${team}/k`, value }])
  await eventually(async () => (await statusWith(plaintext)) === 200)
  const { code, stdout } = await keys(['list', '--team', team])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/rqp\ufffd\[31m\t.*\tx\ufffd\ufffd1m\tn\ufffd\[2J\n$/)])
  expect(stdout.replaceAll(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
})

/** Arguments of `setpriv`. The user may enter every folder, as root may: the checkout may lie in one that is its owner's alone. */
const asUser = (uid: number): string[] => [
  ...[`--reuid=${uid}`, '--regid=0', '--clear-groups', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'],
  // Else access(2) says that the user may not.
  ...['--securebits=+no_setuid_fixup', '--'],
]
const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? test : test.skip
asRoot(
  'an account that the system does not know, as in a container under an arbitrary uid, is named by number',
  async () => {
    const [uid, args] = [1_000_680_000, ['create', '--team', 'uids', '--name', 'n']]
    const environment = { ...process.env, ...pipeline.names, NODE_DISABLE_COMPILE_CACHE: '1' }
    const command = [process.execPath, 'bin/tidemark.ts', 'keys', ...args]
    await promisify(execFile)('setpriv', [...asUser(uid), ...command], { env: environment })
    expect((await keys(['list', '--team', 'uids'])).stdout).toContain(`uid ${uid}`)
  },
)

test('a refused command ends with exit code 1 and the reason, and prints nothing else', async () => {
  const refused: [string[], string][] = [
    [['create', '--team', 'acme', '--name', 'n', '--expires', '20271121T101112Z'], 'such as 2026-11-21T08:30:00.000Z'],
    [['create', '--team', 'acme'], '--name'],
    [['revoke', '--team', 'acme', '--id', 'none'], 'no key none'],
    [['burn'], 'burn'],
  ]
  for (const [args, why] of refused)
    expect(await keys(args)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(why) })
})

test('without a reachable broker, the command reports it and ends in time', async () => {
  const run = await keys(['create', '--team', 'acme', '--name', 'n'], { KAFKA_BROKERS: '127.0.0.1:1' })
  expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^keys: /) })
})
