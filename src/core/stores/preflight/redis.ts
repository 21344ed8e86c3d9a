import type { Problem } from '../../model/result.ts'
import { aborted } from '../../process/aborted.ts'
import type { Config } from '../../process/config.ts'
import { connectRedis } from '../redis.ts'
import { addressIn, type EngineProbe } from './probe.ts'

const defaultPort = 6_379

export const probe = ({ REDIS_URL: url = '', REDIS_CA_FILE: ca }: Config): EngineProbe => ({
  caSetting: 'REDIS_CA_FILE',
  ca,
  addresses: url.startsWith('rediss:') ? [addressIn(url, defaultPort)] : [],
  tryCredentials: async (signal) => {
    const answer = Promise.withResolvers<Problem | undefined>()
    const onError = ({ message }: Error): void => {
      if (message.startsWith('WRONGPASS'))
        answer.resolve({ path: 'REDIS_URL', rule: 'names a user or a password that Redis refuses' })
      else if (message.startsWith('NOAUTH'))
        answer.resolve({ path: 'REDIS_URL', rule: 'must name a user and a password: Redis asks who connects' })
      else answer.reject(new Error(message))
    }
    const redis = connectRedis(url, onError, { ca })
    redis.client.once('ready', () => answer.resolve(undefined))
    try {
      return await Promise.race([answer.promise, aborted(signal)])
    } finally {
      await redis.close()
    }
  },
})
