import type { Kafka } from 'kafkajs'
import { type KafkaSource, kafkaSource } from '../../src/core/kafka/source.ts'

/** A source that has the settings of topics, and nothing else. */
export function sourceOfSettings(
  settingsOf: (topic: string) => Readonly<Record<string, string | number | undefined>>,
): KafkaSource {
  const describeConfigs = async ({ resources }: { resources: readonly { name: string; configNames: string[] }[] }) => ({
    resources: resources.map(({ name, configNames }) => {
      const settings = settingsOf(name)
      const known = configNames.filter((configName) => settings[configName] !== undefined)
      const configEntries = known.map((configName) => ({ configName, configValue: String(settings[configName]) }))
      return { resourceName: name, configEntries }
    }),
  })
  return kafkaSource({ admin: () => ({ connect: async () => undefined, describeConfigs }) } as unknown as Kafka)
}
