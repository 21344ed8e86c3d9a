import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@elastic/elasticsearch'
import { startSecured } from './secured.ts'

/** A user of the file realm. */
export type Account = { readonly name: string; readonly password: string; readonly roles: readonly string[] }

const settings = `xpack.security.enabled: true
xpack.security.http.ssl.enabled: true
xpack.security.http.ssl.certificate: engine.pem
xpack.security.http.ssl.key: engine.key
resource.reload.interval.high: 200ms
`

/** Elasticsearch with TLS, with roles in the form of its `roles.yml`, and with users in its file realm. */
export async function startSecuredElasticsearch(roles: string, accounts: readonly Account[]) {
  /** The superuser. */
  const keeper = { name: 'keeper', password: randomBytes(12).toString('hex'), roles: ['superuser'] }
  const secured = await startSecured('elasticsearch', (definition, files, ca) => {
    const url = (port: number): string => `https://127.0.0.1:${port}`
    return {
      ...definition,
      url,
      prepare: async (port, signal) => {
        const command = await definition.prepare(port, signal)
        const config = join(definition.dataFolder, 'config')
        const yml = await readFile(join(config, 'elasticsearch.yml'), 'utf8')
        await writeFile(join(config, 'elasticsearch.yml'), yml.replace('xpack.security.enabled: false\n', settings))
        await writeFile(join(config, 'roles.yml'), roles)
        await copyFile(files.certificate, join(config, 'engine.pem'))
        await copyFile(files.key, join(config, 'engine.key'))
        // Elasticsearch may run as another user.
        await chmod(join(config, 'engine.key'), 0o644)
        await writeAccounts(config, [keeper, ...accounts])
        return command
      },
      // Only this engine has a certificate of this authority.
      answers: async ({ port }, signal) => {
        const auth = { username: keeper.name, password: keeper.password }
        const client = new Client({ node: url(port), auth, tls: { ca }, maxRetries: 0 })
        try {
          return !(await client.cluster.health({ wait_for_status: 'yellow', timeout: '1s' }, { signal })).timed_out
        } finally {
          await client.close()
        }
      },
    }
  })
  const config = join(secured.engine.dataFolder, 'config')
  return {
    ...secured,
    keeper,
    /** Replaces all accounts but the superuser's. Takes effect within a second. */
    setAccounts: (changed: readonly Account[]): Promise<void> => writeAccounts(config, [keeper, ...changed]),
  }
}

async function writeAccounts(config: string, accounts: readonly Account[]): Promise<void> {
  const roles = [...new Set(accounts.flatMap((account) => account.roles))].map((role) => {
    const members = accounts.filter((account) => account.roles.includes(role))
    return `${role}:${members.map(({ name }) => name).join(',')}\n`
  })
  await writeFile(join(config, 'users_roles'), roles.join(''))
  await writeFile(join(config, 'users'), accounts.map(({ name, password }) => `${name}:${hashOf(password)}\n`).join(''))
}

/** The password hash in the format of the file realm. */
function hashOf(password: string): string {
  const [iterations, salt] = [1_000, randomBytes(32)]
  const hash = pbkdf2Sync(password, salt, iterations, 32, 'sha512')
  return `{PBKDF2}${iterations}$${salt.toString('base64')}$${hash.toString('base64')}`
}
