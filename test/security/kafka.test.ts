import type { AclEntry } from 'kafkajs'
import { pino } from 'pino'
import { readRetention } from '../../indexer/erase/keptRecords.ts'
import { fetchCommittedOffsets, fetchStartOffsets, rebuildGroup } from '../../indexer/startOffsets.ts'
import { surveyGroup } from '../../indexer/status/surveyGroup.ts'
import { checkDeadLetterSize, documentTopics, ensureTopics, sourceTopics } from '../../indexer/topics.ts'
import type { Config } from '../../src/core/config/config.ts'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { kafkaSink } from '../../src/core/kafka/sink.ts'
import { type KafkaSource, kafkaSource } from '../../src/core/kafka/source.ts'
import { testConfig } from '../support/config.ts'
import { eventually, succeeds } from '../support/eventually.ts'
import { startGroupReader } from '../support/groupReader.ts'
import { useStarted } from '../support/lifecycle.ts'
import { ownNames } from '../support/names.ts'
import { killPrograms, refusalOf, runCommand, startProgram, untilReady } from '../support/programs.ts'
import { startRelay } from '../support/relay.ts'
import { readAcls, startSecuredKafka } from '../support/securedKafka.ts'
import { signInSettings } from '../support/signIns.ts'

const own = ownNames()
const defaults = {
  forms: 'TOPIC_FORMS',
  submissions: 'TOPIC_SUBMISSIONS',
  'account-keys': 'TOPIC_ACCOUNT_KEYS',
} as const
const kept = { 'account-key-audit': 'TOPIC_KEY_AUDIT' } as const
const named = { ...defaults, ...kept, 'dead-letters': 'TOPIC_DEAD_LETTERS' } as const
const acls = await readAcls({
  ...Object.fromEntries(Object.entries(named).map(([name, variable]) => [name, own[variable]])),
  'tidemark-indexer': own.CONSUMER_GROUP,
  'tidemark-indexer-rebuild': rebuildGroup(own.CONSUMER_GROUP),
})
const [indexer, settings, deadLetters] = ['tidemark-indexer', 'tidemark-settings', 'tidemark-dead-letters'] as const
const [verify, erase] = ['tidemark-verify', 'tidemark-erase'] as const
const everybody = [indexer, settings, deadLetters, verify, erase]
const users = Object.fromEntries(everybody.map((name) => [name, `password-of-${name}`]))

const kafka = useStarted('Kafka', () => startSecuredKafka(users))
beforeAll(() => kafka.keeper.createAcls({ acl: [...acls.values()] }))
afterEach(killPrograms)

const settingsAs = (user: string, mechanism = 'scram-sha-512'): Record<string, string> => ({
  ...{ ...own, ...signInSettings, KAFKA_BROKERS: kafka.brokers, KAFKA_SSL_CA_FILE: kafka.caFile },
  ...{ KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: user, KAFKA_SASL_PASSWORD: users[user] ?? '' },
})
const silent = pino({ level: 'silent' })

/** A broker that has just made or forgotten a topic, or found its coordinator, may say for a moment that there is none. */
const untilDone = (attempt: () => Promise<unknown>): Promise<void> => eventually(() => succeeds(attempt()))
/** KafkaJS does not always say why: a group, or a topic to be made, is only said to fail. */
const refusal = /authoriz|Topic creation errors|Failed to find group coordinator/i

/** Topics as the keeper makes them, with a record in each. */
async function layOut(): Promise<void> {
  const config = testConfig({ ...own, KAFKA_BROKERS: kafka.engine.url })
  const client = connectKafka(config, silent)
  const [source, sink] = [kafkaSource(client), kafkaSink(client)]
  await untilDone(() => ensureTopics(source, config, silent))
  const topics = [...sourceTopics(config), config.TOPIC_DEAD_LETTERS, config.TOPIC_KEY_AUDIT]
  for (const topic of topics) await untilDone(() => sink.append([{ topic, key: 'acme/x', value: 'x' }]))
  await Promise.all([source.close(), sink.disconnect()])
}

type Hands = {
  readonly config: Config
  readonly source: KafkaSource
  read(topic: string): Promise<void>
  join(groupId: string, topic: string): Promise<void>
  write(topic: string): Promise<unknown>
}

const fetchStarts = (source: KafkaSource, { CONSUMER_GROUP: groupId }: Config, topics: readonly string[]) =>
  fetchStartOffsets(source, [], {
    ...{ groupId, rebuildGroupId: rebuildGroup(groupId), topics },
    ...{
      generationOf: () => undefined,
      storedLogs: new Map(),
      logStatesOfDocuments: async () => new Map(),
      clock: Date.now,
    },
  })

/** What the processes of each user ask of Kafka. */
const works: Readonly<Record<string, (hands: Hands) => Promise<unknown>[]>> = {
  [indexer]: ({ config, source, read, join, write }) => {
    const group = config.CONSUMER_GROUP
    return [
      ensureTopics(source, config, silent),
      checkDeadLetterSize(source, config),
      fetchCommittedOffsets(source, group, documentTopics(config)),
      fetchStarts(source, config, sourceTopics(config)),
      surveyGroup(source, config, 1),
      join(group, config.TOPIC_FORMS),
      join(rebuildGroup(group), config.TOPIC_SUBMISSIONS),
      ...sourceTopics(config).map(read),
      write(config.TOPIC_ACCOUNT_KEYS),
      write(config.TOPIC_DEAD_LETTERS),
    ]
  },
  [settings]: ({ config, write }) => [config.TOPIC_ACCOUNT_KEYS, config.TOPIC_KEY_AUDIT].map(write),
  [deadLetters]: ({ config, read, write }) => [read(config.TOPIC_DEAD_LETTERS), ...sourceTopics(config).map(write)],
  [verify]: ({ config, source, read }) => [
    fetchStarts(source, config, documentTopics(config)),
    ...[...sourceTopics(config), config.TOPIC_DEAD_LETTERS].map(read),
  ],
  [erase]: ({ config, source, read }) => {
    const topics = [...documentTopics(config), config.TOPIC_DEAD_LETTERS]
    return topics.flatMap((topic) => [read(topic), readRetention({ source }, topic)])
  },
}

/** Does the work of a user; rejects with the first refusal. */
async function doWork(user: string): Promise<void> {
  const config = testConfig(settingsAs(user))
  const client = connectKafka(config, silent)
  const [source, sink] = [kafkaSource(client), kafkaSink(client)]
  const hands: Hands = {
    config,
    source,
    read: (topic) => source.readTopic({ topic, signal: AbortSignal.timeout(30_000), onRecord: async () => undefined }),
    join: async (groupId, topic) => {
      const joined = Promise.withResolvers<void>()
      const onAssigned = async (): Promise<void> => joined.resolve()
      const reader = startGroupReader(source, groupId, [topic], { onAssigned })
      try {
        await Promise.race([joined.promise, reader.ended])
      } finally {
        await reader.close()
      }
    },
    write: (topic) => sink.append([{ topic, key: 'acme/x', value: 'x' }]),
  }
  try {
    await Promise.all(works[user]?.(hands) ?? [])
  } finally {
    await Promise.all([source.close(), sink.disconnect()])
  }
}

/** Takes rights away while `meanwhile` is done. */
async function without(rights: readonly AclEntry[], meanwhile: () => Promise<void>): Promise<void> {
  /** The broker hears of a change only after it is made. */
  const untilHeard = (isThere: boolean): Promise<void> =>
    eventually(async () => {
      const found = await Promise.all(rights.map((right) => kafka.keeper.describeAcls(right)))
      return found.every(({ resources }) => resources.length > 0 === isThere)
    })
  await kafka.keeper.deleteAcls({ filters: [...rights] })
  try {
    await untilHeard(false)
    await meanwhile()
  } finally {
    await kafka.keeper.createAcls({ acl: [...rights] })
    await untilHeard(true)
  }
}

const isCreation = (right: string): boolean => right.includes('--operation Create')
const rightsOf = (kept: (right: string) => boolean) =>
  [...acls].filter(([right]) => kept(right)).map(([right, acl]) => ({ right, acl, user: acl.principal.slice(5) }))

// First: readers that are refused below stay members of the indexer's group until their sessions are over.
describe('over TLS, with one user per process', () => {
  const processes = [
    ['indexer', indexer, []],
    ['settings', settings, []],
    ['keys', settings, ['list', '--team', 'acme']],
    ['rebuild', indexer, []],
    ['dead-letters', deadLetters, ['list']],
    ['verify', verify, []],
    ['erase', erase, ['--team', 'acme', '--submission', 's-1']],
  ] as const

  test('the processes work with scram-sha-512 and plain, and the API without Kafka', async () => {
    await layOut()
    const INDEX_PREFIX = ownNames()['INDEX_PREFIX'] ?? ''
    const as = (user: string, mechanism?: string) => ({ ...settingsAs(user, mechanism), INDEX_PREFIX })
    const noKafka = await startRelay()
    const indexing = await startProgram('indexer', as(indexer))
    const area = await startProgram('settings', as(settings))
    const api = await startProgram('api', { ...as(indexer), KAFKA_BROKERS: `127.0.0.1:${noKafka.port}` })
    await Promise.all([indexing, area, api].map(untilReady))
    const create = await runCommand('keys', ['create', '--team', 'acme', '--name', 'n'], as(settings))
    const headers = { authorization: `Bearer ${create.stdout.trim()}` }
    expect((await fetch(`${api.url}/api/v1/forms`, { headers })).status).toBe(200)
    await eventually(async () => (await indexing.metric('tidemark_records_total', '"dead-letter"')) > 0)
    const listed = await runCommand('dead-letters', ['list'], as(deadLetters, 'plain'))
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('acme/x') })
    await eventually(async () => (await runCommand('verify', [], as(verify))).code === 0)
    expect(noKafka.accepted()).toBe(0)
    await noKafka.close()
    // A killed member would keep the next one waiting until its session is over.
    for (const program of [indexing, area, api]) expect(await program.end('SIGTERM')).toBe(0)
  })

  test.each(processes)(
    '%s ends with exit code 78 and one line when its password is refused',
    async (script, user, args) => {
      const mechanism = script === 'indexer' ? 'plain' : 'scram-sha-512'
      const why = 'is refused by Kafka for the user of KAFKA_SASL_USERNAME by way of KAFKA_SASL_MECHANISM'
      const wrong = { ...settingsAs(user, mechanism), KAFKA_SASL_PASSWORD: 'hunter2' }
      expect(await refusalOf(script, wrong, args)).toBe(`KAFKA_SASL_PASSWORD ${why}\n`)
    },
  )

  test.each(processes)(
    '%s ends with exit code 78 and one line when no trusted authority has signed the certificate of Kafka',
    async (script, user, args) => {
      const line = /^KAFKA_SSL_CA_FILE does not vouch for the certificate of 127\.0\.0\.1:\d+ \([A-Z_]+\)\n$/
      expect(await refusalOf(script, { ...settingsAs(user), KAFKA_SSL_CA_FILE: kafka.foreignCaFile }, args)).toMatch(
        line,
      )
    },
  )
})

describe('the rights of Kafka', () => {
  beforeAll(layOut)

  test.each(everybody)(
    '%s has the rights it needs, without the right to create topics once they exist',
    async (user) => {
      const creations = rightsOf(isCreation).map(({ acl }) => acl)
      await without(creations, () => untilDone(() => doWork(user)))
    },
  )

  test.each(rightsOf((right) => !isCreation(right)))('it fails without $right', async ({ acl, user }) => {
    await without([acl, ...rightsOf(isCreation).map((each) => each.acl)], async () => {
      await expect(doWork(user)).rejects.toThrow(refusal)
    })
  })

  test.each(rightsOf(isCreation))('a missing topic is not created without $right', async ({ acl, user }) => {
    const config = testConfig(settingsAs(user))
    const source = kafkaSource(connectKafka(config, silent))
    await without([acl], async () => {
      await kafka.keeper.deleteTopics({ topics: [acl.resourceName] })
      await eventually(async () => !(await kafka.keeper.listTopics()).includes(acl.resourceName))
      await expect(ensureTopics(source, config, silent)).rejects.toThrow(refusal)
    })
    await untilDone(() => ensureTopics(source, config, silent))
    await source.close()
    await layOut()
  })

  test('the settings area cannot read forms and submissions, and the indexer cannot write forms, submissions and the audit', async () => {
    const writes = async (user: string, topic: string): Promise<void> => {
      const sink = kafkaSink(connectKafka(testConfig(settingsAs(user)), silent))
      try {
        await sink.append([{ topic, key: null, value: 'x' }])
      } finally {
        await sink.disconnect()
      }
    }
    for (const variable of ['TOPIC_FORMS', 'TOPIC_SUBMISSIONS', 'TOPIC_KEY_AUDIT'] as const)
      await expect(writes(indexer, own[variable])).rejects.toThrow(refusal)
    await expect(writes(settings, own.TOPIC_FORMS)).rejects.toThrow(refusal)
    const source = kafkaSource(connectKafka(testConfig(settingsAs(settings)), silent))
    const signal = AbortSignal.timeout(30_000)
    const topic = own.TOPIC_ACCOUNT_KEYS
    await expect(source.readTopic({ topic, signal, onRecord: async () => undefined })).rejects.toThrow(refusal)
  })
})
