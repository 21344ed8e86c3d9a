import type { Problem } from '../../model/result.ts'
import { aborted } from '../../process/aborted.ts'
import type { Config } from '../../process/config.ts'
import { printable } from '../../process/log.ts'
import { connectConfiguredRedis, refusesDatabase } from '../redis.ts'
import { addressIn, type EngineProbe } from './probe.ts'

const defaultPort = 6_379

export const probe = (config: Config): EngineProbe => ({
  caSetting: 'REDIS_CA_FILE',
  ca: config.REDIS_CA_FILE,
  addresses: addressesOf(config),
  tryCredentials: async (signal) => {
    const answer = Promise.withResolvers<Problem | undefined>()
    const onError = (error: Error): void => {
      const { message } = error
      if (message.startsWith('WRONGPASS'))
        answer.resolve({ path: 'REDIS_URL', rule: 'names a user or a password that Redis refuses' })
      else if (message.startsWith('NOAUTH'))
        answer.resolve({ path: 'REDIS_URL', rule: 'must name a user and a password: Redis asks who connects' })
      else if (refusesDatabase(error))
        answer.resolve({ path: 'REDIS_URL', rule: `names a database that Redis refuses: ${printable(message)}` })
      else answer.reject(new Error(message))
    }
    const redis = connectConfiguredRedis(config, onError)
    redis.client.once('ready', () => answer.resolve(undefined))
    try {
      return await Promise.race([answer.promise, aborted(signal)])
    } finally {
      await redis.close()
    }
  },
})

/** The TLS address of a Redis that is named itself; Sentinels name theirs later. */
const addressesOf = ({ REDIS_URL: url = '', REDIS_SENTINELS: sentinels }: Config): EngineProbe['addresses'] =>
  url.startsWith('rediss:') && sentinels.length === 0 ? [addressIn(url, defaultPort)] : []
