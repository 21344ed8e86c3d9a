import { downloadProgress, renderPom } from '../../../../tools/engines/distribution.ts'
import { renderElasticsearchYml, renderJvmOptions } from '../../../../tools/engines/elasticsearch.ts'
import { renderEnginesFile } from '../../../../tools/engines/engineUrls.ts'
import { renderServerProperties } from '../../../../tools/engines/kafka.ts'
import { redisArguments, redisDistribution } from '../../../../tools/engines/redis.ts'

test('Elasticsearch listens on loopback alone and keeps what it writes in its folder', () => {
  const yml = renderElasticsearchYml({ clusterName: 'tidemark-1', port: 9201, dataFolder: '/var/a "b": c' })
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
  expect(renderJvmOptions(shipped, ['-Xint'])).toBe('-XX:+UseG1GC\n20-:--add-modules=x\n-Xms1g\n-Xmx1g\n-Xint\n')
})

test('Kafka is broker and controller on loopback and takes records of 16 MiB', () => {
  const properties = renderServerProperties({ port: 9092, controllerPort: 21_000 }).split('\n')
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
