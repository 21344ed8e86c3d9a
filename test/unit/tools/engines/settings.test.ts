import { downloadProgress, renderPom } from '../../../../tools/engines/distribution.ts'
import {
  membershipOf,
  renderElasticsearchYml,
  renderJvmOptions,
  singleNode,
} from '../../../../tools/engines/elasticsearch.ts'
import { renderEnginesFile } from '../../../../tools/engines/engineUrls.ts'
import { renderServerProperties } from '../../../../tools/engines/kafka.ts'
import { redisArguments, redisDistribution } from '../../../../tools/engines/redis.ts'

test('Elasticsearch listens on loopback alone and keeps what it writes in its folder', () => {
  const yml = renderElasticsearchYml({
    clusterName: 'tidemark-1',
    port: 9201,
    dataFolder: '/var/a "b": c',
    membership: singleNode,
  })
  expect(yml.split('\n')).toEqual(
    expect.arrayContaining([
      'network.host: "127.0.0.1"',
      'http.port: 9201',
      'transport.port: 0',
      'discovery.type: "single-node"',
      'path.data: "/var/a \\"b\\": c/data"',
      'path.logs: "/var/a \\"b\\": c/logs"',
    ]),
  )
})

test('Elasticsearch runs with the JVM options it ships, a heap of 1 GB and no garbage collection log', () => {
  const shipped = '# a comment\n\n-XX:+UseG1GC\n20-:--add-modules=x\n-Xlog:gc*:file=gc.log\n'
  expect(renderJvmOptions(shipped, '1g', ['-Xint'])).toBe('-XX:+UseG1GC\n20-:--add-modules=x\n-Xms1g\n-Xmx1g\n-Xint\n')
})

test('a garbage collector among the flags replaces the one that Elasticsearch ships', () => {
  expect(renderJvmOptions('-XX:+UseG1GC\n-Xss1m\n', '1g', ['-XX:+UseSerialGC'])).toBe(
    '-Xss1m\n-Xms1g\n-Xmx1g\n-XX:+UseSerialGC\n',
  )
})

test('Kafka is broker and controller on loopback and takes records of 16 MiB', () => {
  const properties = renderServerProperties({ id: 1, port: 9092, controllerPort: 21_000 }).split('\n')
  expect(properties).toEqual(
    expect.arrayContaining([
      'process.roles=broker,controller',
      'controller.quorum.voters=1@127.0.0.1:21000',
      'listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:21000',
      'advertised.listeners=PLAINTEXT://127.0.0.1:9092',
      'auto.create.topics.enable=false',
      'message.max.bytes=16777216',
    ]),
  )
})

test('a node of a cluster knows the transport ports of all nodes', () => {
  const nodes = [1, 2].map((number) => ({ name: `elasticsearch-${number}`, port: number, transportPort: 9 + number }))
  const membership = membershipOf(nodes[1] as (typeof nodes)[number], nodes)
  const yml = renderElasticsearchYml({ clusterName: 'c', port: 2, dataFolder: '/d', membership })
  expect(yml.split('\n')).toEqual(
    expect.arrayContaining([
      'node.name: "elasticsearch-2"',
      'transport.port: 11',
      'discovery.seed_hosts: ["127.0.0.1:10","127.0.0.1:11"]',
      'cluster.initial_master_nodes: ["elasticsearch-1","elasticsearch-2"]',
    ]),
  )
  expect(yml).not.toContain('single-node')
})

test('three brokers keep three copies, of which two must be in sync; one broker keeps one', () => {
  const brokers = [1, 2, 3].map((id) => ({ id, port: 9_090 + id, controllerPort: 9_190 + id }))
  const properties = renderServerProperties(brokers[1] as (typeof brokers)[number], brokers)
  expect(properties.split('\n')).toEqual(
    expect.arrayContaining([
      'node.id=2',
      'controller.quorum.voters=1@127.0.0.1:9191,2@127.0.0.1:9192,3@127.0.0.1:9193',
      'default.replication.factor=3',
      'min.insync.replicas=2',
      'offsets.topic.replication.factor=3',
      'transaction.state.log.replication.factor=3',
      'transaction.state.log.min.isr=2',
    ]),
  )
  const single = renderServerProperties(brokers[0] as (typeof brokers)[number])
  expect(single).toContain('offsets.topic.replication.factor=1\n')
  expect(single).not.toContain('min.insync.replicas')
})

test('Redis keeps everything in its append-only file and evicts nothing', () => {
  const settings = redisArguments(6380).join(' ')
  expect(settings).toContain('--bind 127.0.0.1 --port 6380')
  expect(settings).toContain('--appendonly yes --appendfsync everysec --maxmemory-policy noeviction')
})

test.each(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])('a Redis can be fetched for %s', (platform) => {
  expect(redisDistribution(platform)).toBeDefined()
})

test('no Redis can be fetched for a platform that has none', () => {
  expect(redisDistribution('linux-s390x')).toBeUndefined()
})

test('a pom names each artefact with its type, and excludes the dependencies of one that is wanted alone', () => {
  const pom = renderPom([
    { groupId: 'g', artifactId: 'a', version: '1', type: 'zip' },
    { groupId: 'h', artifactId: 'b', version: '2', alone: true },
  ])
  expect(pom).toContain(
    '<dependency><groupId>g</groupId><artifactId>a</artifactId><version>1</version><type>zip</type></dependency>',
  )
  expect(pom.match(/<exclusions>/g)).toHaveLength(1)
})

test('download progress is the latest that Maven printed', () => {
  const output = 'Downloading from central: a.zip\nProgress (1): 0.5/124 MB\rProgress (1): 12/124 MB\r'
  expect(downloadProgress(output)).toBe('12/124 MB')
  expect(downloadProgress('Progress (2): a.jar (3.1/9 kB | b.jar (1.0/2.5 MB)')).toBe('3.1/9 kB')
  expect(downloadProgress('[INFO] BUILD SUCCESS')).toBeUndefined()
})

test('engines.env holds one variable a line', () => {
  const urls = { ELASTICSEARCH_URL: 'http://127.0.0.1:1', KAFKA_BROKERS: '127.0.0.1:2', REDIS_URL: 'redis://x:3' }
  expect(renderEnginesFile(urls)).toBe(
    'ELASTICSEARCH_URL=http://127.0.0.1:1\nKAFKA_BROKERS=127.0.0.1:2\nREDIS_URL=redis://x:3\n',
  )
})
