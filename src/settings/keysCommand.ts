import { userInfo } from 'node:os'
import { Command } from 'commander'
import { pino } from 'pino'
import { connectKafka } from '../core/kafka/client.ts'
import { kafkaSink } from '../core/kafka/sink.ts'
import { jsonLine, printable } from '../core/monitoring/log.ts'
import { configOrExit } from '../core/process/lifecycle.ts'
import { AccountKeyStore } from '../core/redis/accountKeyStore.ts'
import { connectRedis, untilConnected } from '../core/redis/redis.ts'
import { AccountKeyManager, type UsedKey } from './accountKeyManager.ts'
import { changeKeeper } from './recentChanges.ts'

export const command = new Command()
command
  .command('create')
  .description('prints the plaintext key, alone, on stdout; it cannot be shown again')
  .requiredOption('--team <id>')
  .requiredOption('--name <text>', 'tells the key from others')
  .option('--expires <ISO date-time>')
  .action((options: { team: string; name: string; expires?: string }) =>
    withKeys(async (keys) => {
      const { plaintext, key } = await keys.create({ ...options, by: caller() })
      process.stdout.write(`${plaintext}\n`)
      process.stderr.write(`created ${key.id}; this is the only time the key is shown\n`)
    }),
  )
command
  .command('list')
  .description('prints the keys of a team, revoked ones included')
  .requiredOption('--team <id>')
  .option('--json', 'print one JSON object a line')
  .action(({ team, json }: { team: string; json?: true }) =>
    withKeys(async (keys) => {
      const listed = await keys.list(team)
      process.stdout.write(json ? listed.map(({ digest: _digest, ...key }) => jsonLine(key)).join('') : table(listed))
    }),
  )
for (const [change, description] of [
  ['revoke', 'stops a key at once; it keeps its slot'],
  ['delete', 'removes a key for good and frees its slot'],
] as const)
  command
    .command(change)
    .description(description)
    .requiredOption('--team <id>')
    .requiredOption('--id <id>')
    .action((options: { team: string; id: string }) =>
      withKeys(async (keys) => {
        await keys[change]({ ...options, by: caller() })
        process.stderr.write(`${change}d ${options.id}\n`)
      }),
    )

/** The uid if the system has no account for it, as in a container with an arbitrary uid. */
function caller(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}

/** After an error, exits with 1. */
async function withKeys(action: (keys: AccountKeyManager) => Promise<void>): Promise<void> {
  const config = await configOrExit(['KAFKA_BROKERS', 'REDIS_URL'])
  const redis = connectRedis(config, () => undefined)
  // The command prints its result itself.
  const silent = pino({ level: 'silent' })
  const sink = kafkaSink(connectKafka(config, silent))
  const store = new AccountKeyStore(redis)
  try {
    await untilConnected(redis)
    const deps = { store, sink, topics: config, keepChange: changeKeeper(redis, silent), log: silent, nowMs: Date.now }
    await action(new AccountKeyManager(deps))
  } catch (error) {
    process.stderr.write(`keys: ${(error as Error).message}\n`)
    process.exitCode = 1
  } finally {
    await sink.disconnect()
    await redis.close()
  }
}

function table(keys: readonly UsedKey[]): string {
  const header = ['ID', 'STATE', 'START', 'CREATED', 'EXPIRES', 'LAST USED', 'BY', 'NAME']
  const rows = keys.map(({ id, state, start, createdAt, expiresAt, lastUsedAt, createdBy, name }) => {
    return [id, state, start ?? '', createdAt, expiresAt ?? 'never', lastUsedAt ?? 'unknown', createdBy, name]
  })
  return [header, ...rows].map((line) => `${line.map(printable).join('\t')}\n`).join('')
}
