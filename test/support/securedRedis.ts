import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { choosePort } from '../../tools/engines/ports.ts'
import { startSecured } from './secured.ts'

type More = { readonly asks?: boolean; readonly more?: readonly string[] }

export type SecuredRedis = Awaited<ReturnType<typeof startSecuredRedis>>

/** Redis with TLS, and the project's users under a key prefix of their own; `asks` for client certificates of the same authority. */
export async function startSecuredRedis(prefix: string, { asks = false, more = [] }: More = {}) {
  const tlsPort = await choosePort()
  const secured = await startSecured('redis', (definition, { certificate, key }, ca) => ({
    ...definition,
    prepare: async (port, signal) => {
      const command = await definition.prepare(port, signal)
      const authorities = join(definition.dataFolder, 'ca.pem')
      await writeFile(authorities, ca)
      const tls = ['--tls-port', String(tlsPort), '--tls-auth-clients', asks ? 'yes' : 'no']
      const files = ['--tls-ca-cert-file', authorities, '--tls-cert-file', certificate, '--tls-key-file', key]
      return { ...command, args: [...command.args, ...tls, ...files, ...more] }
    },
  }))
  /** The superuser's connection. */
  const keeper = new Redis(secured.engine.url)
  const passwordOf = (user: string): string => `password-of-${user}`
  /** Redis 7 and later. */
  const tellsReadFromWrite = Number(/redis_version:(\d+)/.exec(await keeper.info('server'))?.[1]) >= 7
  /** Replaces the ACL rules of a user, and sets its password. */
  const setRules = async (user: string, rules: readonly string[], password = passwordOf(user)): Promise<void> => {
    const known = tellsReadFromWrite ? rules : rules.map((rule) => rule.replace(/^%[RW]~/, '~'))
    await keeper.call('ACL', 'SETUSER', user, 'reset', ...known, 'on', `>${password}`)
  }
  for (const [user = '', ...rules] of await readUsers(prefix)) await setRules(user, rules)
  return {
    ...secured,
    keeper,
    tellsReadFromWrite,
    setRules,
    /** The URL of a user; `password` is by default the right one. */
    urlOf: (user: string, password = passwordOf(user)): string => `rediss://${user}:${password}@127.0.0.1:${tlsPort}`,
    stop: async (): Promise<void> => {
      keeper.disconnect()
      await secured.stop()
    },
  }
}

/** Each user's name and rules. */
export async function readUsers(prefix: string): Promise<string[][]> {
  const text = await readFile('security/redis-users.acl', 'utf8')
  const lines = text.replaceAll('~tidemark:', `~${prefix}:`).trim().split('\n')
  return lines.map((line) => line.split(' ').slice(1))
}
