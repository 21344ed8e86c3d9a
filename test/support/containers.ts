import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GenericContainer, getContainerRuntimeClient, ImageName, Wait } from 'testcontainers'
import type { EngineName, EngineUrls } from '../../tools/engines/engines.ts'
import { variableOf } from '../../tools/engines/engineUrls.ts'
import { renderServerProperties } from '../../tools/engines/kafka.ts'
import { choosePort } from '../../tools/engines/ports.ts'
import { redisArguments } from '../../tools/engines/redis.ts'
import { startSupervised } from '../../tools/engines/supervisedProgram.ts'
import { within } from '../../tools/engines/waiting.ts'

/** Running engine containers. */
export type Containers = { urls: Partial<EngineUrls>; stop(): Promise<void> }

const images = { elasticsearch: 'elasticsearch:9.4.3', kafka: 'apache/kafka:4.3.1', redis: 'redis:8-alpine' }
const dockerDeadlineMs = 5_000
const startDeadlineMs = 180_000
const runLabel = 'tidemark.test-run'
const reaperPath = fileURLToPath(new URL('./containerReaper.ts', import.meta.url))

/** Why these engines cannot run in containers here; undefined if they can. Pulls no images. */
export const whyNoContainers = async (names: readonly EngineName[]): Promise<string | undefined> => {
  const lacking = await within(
    imagesLacking(names).catch(() => undefined),
    dockerDeadlineMs,
  )
  if (lacking === undefined) return 'no Docker daemon answers'
  return lacking.length === 0 ? undefined : `Docker does not hold ${lacking.join(', ')}`
}

const imagesLacking = async (names: readonly EngineName[]): Promise<string[]> => {
  const { image } = await getContainerRuntimeClient()
  const wanted = names.map((name) => images[name])
  const areHeld = await Promise.all(wanted.map((name) => image.exists(ImageName.fromString(name))))
  return wanted.filter((_, at) => areHeld[at] === false)
}

/**
 * Starts these engines in containers, with the settings of those that run as processes, and returns once all answer. The
 * containers are removed when this process ends in any way. Their logs go to files in the folder `logs`.
 */
export const startContainers = async (
  names: readonly EngineName[],
  { logs, signal }: { logs: string; signal: AbortSignal },
): Promise<Containers> => {
  // Ryuk's image would have to be pulled; containerReaper.ts replaces it.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true'
  await mkdir(logs, { recursive: true })
  const run = randomUUID()
  const reaper = await startSupervised(
    { command: process.execPath, args: [reaperPath, runLabel, run], cwd: process.cwd(), env: process.env },
    { logPath: join(logs, 'containers.log') },
    signal,
  )
  const start = async (name: EngineName): Promise<[string, string]> => {
    const log = join(logs, `${name}.log`)
    const container = new GenericContainer(images[name])
      .withLabels({ [runLabel]: run })
      .withLogConsumer((stream) => stream.pipe(createWriteStream(log)))
      .withStartupTimeout(startDeadlineMs)
    try {
      return [variableOf[name], await starters[name](container)]
    } catch (error) {
      throw new Error(`${name} did not start in a container; its log is ${log}`, { cause: error })
    }
  }
  try {
    return { urls: Object.fromEntries(await Promise.all(names.map(start))), stop: () => reaper.stop() }
  } catch (error) {
    await reaper.stop()
    throw error
  }
}

/** Engine → function that starts it and returns its URL. */
const starters: Record<EngineName, (container: GenericContainer) => Promise<string>> = {
  elasticsearch: async (container) => {
    const started = await container
      .withEnvironment({
        'discovery.type': 'single-node',
        'xpack.security.enabled': 'false',
        'cluster.routing.allocation.disk.threshold_enabled': 'false',
        'indices.breaker.total.use_real_memory': 'false',
        ES_JAVA_OPTS: '-Xms1g -Xmx1g',
      })
      .withExposedPorts(9200)
      .withWaitStrategy(Wait.forHttp('/_cluster/health?wait_for_status=yellow', 9200))
      .start()
    return `http://${started.getHost()}:${started.getMappedPort(9200)}`
  },
  kafka: async (container) => {
    const { host } = (await getContainerRuntimeClient()).info.containerRuntime
    // Chosen before the start, because Kafka advertises its address to clients.
    const port = await choosePort()
    await container
      .withEnvironment({ ...kafkaEnvironment(host, port), KAFKA_HEAP_OPTS: '-Xmx512m' })
      .withExposedPorts({ container: port, host: port })
      .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
      .start()
    return `${host}:${port}`
  },
  redis: async (container) => {
    const started = await container
      .withCommand(['redis-server', ...redisArguments(6379), '--bind', '0.0.0.0'])
      .withExposedPorts(6379)
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
      .start()
    return `redis://${started.getHost()}:${started.getMappedPort(6379)}`
  },
}

/** The settings of a Kafka process, as environment of the image. */
const kafkaEnvironment = (host: string, port: number): Record<string, string> => {
  const controllerPort = 9093
  const lines = renderServerProperties({ id: 1, port, controllerPort }).trim().split('\n')
  const inImage = lines.map((line): [string, string] => {
    const [name = '', ...value] = line.split('=')
    return [`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`, value.join('=')]
  })
  return {
    ...Object.fromEntries(inImage),
    KAFKA_LISTENERS: `PLAINTEXT://0.0.0.0:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://${host}:${port}`,
    KAFKA_LOG_DIRS: '/tmp/kafka',
  }
}
