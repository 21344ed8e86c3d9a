import { Agent } from 'undici'
import { currentTag, imageName } from '../../tools/kubernetes/images.ts'
import { expectNothingLost } from '../model/expectNothingLost.ts'
import { follow } from '../model/follower.ts'
import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { askSteadily } from '../support/askSteadily.ts'
import { eventually } from '../support/eventually.ts'
import { usePipeline } from '../support/pipeline.ts'
import { useNamespace, type Value, valuesFor } from './support/cluster.ts'

const team = 'steady'
/** How often every process is replaced. */
const releases = Number(process.env['RELEASES'] ?? 5)
const requestsPerSecond = 200
const current = await currentTag()

const pipeline = usePipeline()
const namespace = useNamespace()
const over = new AbortController()
afterAll(() => over.abort())

const settings = {
  enabled: true,
  config: { SETTINGS_URL: 'https://keys.example.com', SIGN_IN_ISSUER: 'https://quiz.example.com' },
  secrets: { SIGN_IN_SECRET: { value: 's'.repeat(32) } },
}
const valuesOf = (release: number): Record<string, Value> =>
  valuesFor(pipeline, {
    settings,
    // A changed annotation replaces every pod.
    podAnnotations: { release: String(release) },
    image: { repository: imageName, tag: tagOf(release) },
  })
/** The release before this one, and this one, in turn. */
const tagOf = (release: number): string => (release % 2 === 0 ? (process.env['RELEASE_BEFORE'] ?? current) : current)

const imagesOf = async (component: string): Promise<string[]> =>
  (await namespace.pods(component))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ spec }) => spec.containers[0]?.image ?? '')

test(
  'releases and a rollback through the Service, at 200 requests a second, lose no request and no record',
  async () => {
    await namespace.deploy('install', valuesOf(0))
    await pipeline.createKeys([team])
    expect(await namespace.helm('test', 'tidemark')).toMatch(/Phase: +Succeeded/)
    const front = { url: await namespace.urlOf('tidemark-api') }
    const settingsUrl = await namespace.urlOf('tidemark-settings')
    await eventually(async () => (await pipeline.get(front, team, '/api/v1/records')).status === 200)
    const writer = startSteadyWriter(pipeline, { seed: 51, perSecond: 50, team })
    const reader = startPollingReader(pipeline, front, writer)
    const followers = (['forms', 'records'] as const).map((list) =>
      follow(pipeline, { url: front.url, team, list, signal: over.signal }),
    )
    const keptAlive = new Agent({ connections: 10 })
    // Each request opens a connection, which kube-proxy leads to a pod.
    const reconnecting = new Agent({ connections: 10, pipelining: 0 })
    const ofSettings = new Agent({ connections: 10 })
    const authorization = `Bearer ${pipeline.keyOf(team)}`
    const ended = {
      api: askSteadily(`${front.url}/api/v1/records?limit=5`, authorization, keptAlive, requestsPerSecond - 20),
      reconnecting: askSteadily(`${front.url}/api/v1/forms?limit=5`, authorization, reconnecting, 20),
      settings: askSteadily(settingsUrl, '', ofSettings, 10),
    }
    const startedAtMs = Date.now()
    for (let release = 1; release <= releases; release++) {
      await namespace.deploy('upgrade', valuesOf(release))
      for (const component of ['api', 'indexer', 'settings']) {
        const tags = new Set(await imagesOf(component))
        expect(tags).toEqual(new Set([`${imageName}:${tagOf(release)}`]))
      }
    }
    await namespace.rollback(1)
    const told = {
      api: await ended.api(),
      reconnecting: await ended.reconnecting(),
      settings: await ended.settings(),
    }
    const tookS = Math.round((Date.now() - startedAtMs) / 1_000)
    process.stderr.write(`answers during ${releases} releases and a rollback, ${tookS} s: ${JSON.stringify(told)}\n`)
    await Promise.all([keptAlive, reconnecting, ofSettings].map((agent) => agent.close()))
    await expectNothingLost(pipeline, { front, writer, reader, followers })
    expect(Object.keys(told.api)).toEqual(['200'])
    expect(Object.keys(told.reconnecting)).toEqual(['200'])
    expect(Object.keys(told.settings)).toEqual(['303'])
    await namespace.helm('uninstall', 'tidemark', '--wait')
    await eventually(async () => (await namespace.kubectl('get', 'pods', '--output', 'name')) === '')
  },
  600_000 + releases * 180_000,
)
