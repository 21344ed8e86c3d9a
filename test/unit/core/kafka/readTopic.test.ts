import { SimulatedKafka } from '../../../simulation/engines/kafka/simulatedKafka.ts'
import { localHost, localNetwork } from '../../../simulation/network.ts'

const topic = 'forms'

/** Kafka with two records, and a way to read them. */
function setting(network = localNetwork) {
  const kafka = new SimulatedKafka(localHost())
  kafka.topics.create({ topic, partitions: 1, settings: {} })
  kafka.append(topic, 'acme/f1', 'left')
  const last = kafka.append(topic, 'acme/f2', null)
  const read = async (onKey: (key: string) => void, signal = AbortSignal.timeout(60_000)): Promise<void> => {
    const source = kafka.client(network).openSource()
    await source.readTopic({ topic, signal, onRecord: async ({ key }) => onKey(String(key)) })
  }
  return { kafka, last, read }
}

test('a read that fails or is stopped throws the reason, and reads no further record', async () => {
  const { read } = setting()
  const keys: string[] = []
  const failing = read((key) => {
    keys.push(key)
    throw new Error('the store is full')
  })
  await expect(failing).rejects.toThrow('the store is full')
  const stop = new AbortController()
  const stopped = read((key) => {
    keys.push(key)
    stop.abort(new Error('stopped'))
  }, stop.signal)
  await expect(stopped).rejects.toThrow('stopped')
  expect(keys).toEqual(['acme/f1', 'acme/f1'])
  await expect(read(() => undefined, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
})

test('a topic is read to its end, also when compaction has removed the records there', async () => {
  const { kafka, last, read } = setting()
  kafka.compact(topic, { below: last.offset + 1n, dropTombstones: true })
  const keys: string[] = []
  await read((key) => keys.push(key))
  expect(keys).toEqual(['acme/f1'])
})

test('records that are removed while the topic is read are passed over', async () => {
  const { kafka, last, read } = setting()
  for (let more = 0; more < 20; more++) kafka.append(topic, `acme/more-${more}`, 'x')
  const keys = new Set<string>()
  await read((key) => {
    if (keys.size === 0) kafka.deleteBelow(topic, 0, last.offset + 20n)
    keys.add(key)
  })
  expect([...keys].at(-1)).toBe('acme/more-19')
})

test('answers without records, as from a slow remote storage, do not end a read', async () => {
  let empty = 4
  const { read } = setting({
    call: async (engine, what, work, options) => {
      const answer = await localNetwork.call(engine, what, work, options)
      const { responses = [] } = (answer ?? {}) as { responses?: { partitions: { messages: unknown[] }[] }[] }
      if (what === 'Fetch' && empty-- > 0)
        for (const partition of responses.flatMap(({ partitions }) => partitions)) partition.messages = []
      return answer
    },
  })
  const keys: string[] = []
  await read((key) => keys.push(key))
  expect(keys).toEqual(['acme/f1', 'acme/f2'])
})

test('a partition that gets no room in many answers is read to its end all the same', async () => {
  let answers = 0
  const { kafka, read } = setting({
    call: async (engine, what, work, options) => {
      const answer = await localNetwork.call(engine, what, work, options)
      const { responses = [] } = (answer ?? {}) as { responses?: { partitions: Answered[] }[] }
      if (what !== 'Fetch' || ++answers > 8) return answer
      for (const partition of responses.flatMap(({ partitions }) => partitions))
        partition.messages = partition.messages.slice(0, partition.partition === 0 ? 1 : 0)
      return answer
    },
  })
  kafka.topics.addPartition(topic)
  for (let more = 0; more < 60; more++) kafka.append(topic, `acme/more-${more}`, 'x')
  const keys = new Set<string>()
  await read((key) => keys.add(key))
  expect(answers).toBeGreaterThan(8)
  expect(keys.size).toBe(62)
})

type Answered = { readonly partition: number; messages: unknown[] }
