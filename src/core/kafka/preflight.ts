import kafkajs from 'kafkajs'
import { pino } from 'pino'
import { aborted } from '../process/aborted.ts'
import type { Config } from '../process/config.ts'
import { type Address, addressIn, type EngineProbe } from '../stores/preflight.ts'
import { connectKafka, trustedAuthorities, usesTls } from './client.ts'

const defaultPort = 9_092
const addressOf = (broker: string): Address => addressIn(`kafka://${broker}`, defaultPort)

/** How the start of a process checks Kafka. */
export const kafkaProbe = (config: Config): EngineProbe => ({
  engine: 'KAFKA_BROKERS',
  caSetting: config.KAFKA_SSL_CA_FILE === undefined ? 'KAFKA_SSL' : 'KAFKA_SSL_CA_FILE',
  ...(usesTls(config)
    ? { ca: trustedAuthorities(config), addresses: config.KAFKA_BROKERS.map(addressOf) }
    : { ca: undefined, addresses: [] }),
  tryCredentials: async (signal) => {
    const admin = connectKafka(config, pino({ level: 'silent' })).admin({ retry: { retries: 0 } })
    try {
      await Promise.race([admin.connect(), aborted(signal)])
      return undefined
    } catch (error) {
      if (!(error instanceof kafkajs.KafkaJSSASLAuthenticationError)) throw error
      const rule = 'is refused by Kafka for the user of KAFKA_SASL_USERNAME by way of KAFKA_SASL_MECHANISM'
      return { path: 'KAFKA_SASL_PASSWORD', rule }
    } finally {
      admin.disconnect().catch(() => undefined)
    }
  },
})
