import kafkajs from 'kafkajs'
import { pino } from 'pino'
import { aborted } from '../../process/aborted.ts'
import type { Config } from '../../process/config.ts'
import { connectKafka } from '../kafka.ts'
import { addressIn, type EngineProbe } from './probe.ts'

const defaultPort = 9_092

export const probe = (config: Config): EngineProbe => ({
  caSetting: 'KAFKA_SSL_CA_FILE',
  ca: config.KAFKA_SSL_CA_FILE,
  addresses:
    config.KAFKA_SSL_CA_FILE === undefined
      ? []
      : config.KAFKA_BROKERS.map((broker) => addressIn(`kafka://${broker}`, defaultPort)),
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
