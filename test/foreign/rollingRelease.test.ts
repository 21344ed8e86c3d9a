import { Agent } from 'undici'
import { chooseDistinctPorts } from '../../tools/engines/ports.ts'
import { expectNothingLost } from '../model/expectNothingLost.ts'
import { follow } from '../model/follower.ts'
import { startPollingReader, startSteadyWriter } from '../model/live.ts'
import { askSteadily } from '../support/askSteadily.ts'
import { eventually } from '../support/eventually.ts'
import { closeAfterwards } from '../support/lifecycle.ts'
import { type Pipeline, usePipeline } from '../support/pipeline.ts'
import { type Program, probe, type Run, runCommand } from '../support/programs.ts'
import { checkOutReleaseBefore } from '../support/releaseBefore.ts'
import { useFolder } from '../support/temporaryFolder.ts'
import { describeNginx, shippedFor, startNginx } from './support/nginx.ts'

const team = 'steady'
const drainMs = 1_500
/** How often all processes are replaced, by those of this release and of the one before in turn. */
const releases = Number(process.env['RELEASES'] ?? 2)
const addresses = ['127.0.0.1', '127.0.0.2']
/** Ten releases at 400 requests a second take a hundred thousand. */
const requestsPerSecond = Number(process.env['RELEASE_REQUESTS_PER_SECOND'] ?? 40)
const perSecond = { nginx: requestsPerSecond / 2, resolver: requestsPerSecond / 2, settings: 10 }

const pipeline = usePipeline()
const folder = useFolder()
const over = new AbortController()
afterAll(() => over.abort())

/** Processes of one kind, each on an address that its successor takes over. `root`: the folder of a release. */
async function startFleet(start: Pipeline['startApi'], firstRoot: string) {
  const [port = 0] = await chooseDistinctPorts(1)
  const startAt = (HOST: string, root: string): Promise<Program> =>
    start({ HOST, PORT: String(port), DRAIN_MS: String(drainMs) }, root)
  const serving = await Promise.all(addresses.map((host) => startAt(host, firstRoot)))
  return {
    port,
    serving,
    /** Replaces the processes one by one, each when its successor is ready. */
    replaceAll: async (root: string): Promise<void> => {
      for (const [at, host] of addresses.entries()) {
        expect(await serving[at]?.end('SIGTERM')).toBe(0)
        serving[at] = await startAt(host, root)
      }
    },
  }
}

/** An HTTP client with keep-alive whose DNS look-ups return the addresses of ready processes only, as in a Kubernetes cluster. */
function resolveReady(programs: readonly Program[], intervalMs: number) {
  let ready = [...addresses]
  const look = async (): Promise<void> => {
    const found = await Promise.all(programs.map((program) => probe(program, 'readyz').catch(() => undefined)))
    ready = addresses.filter((_, at) => found[at]?.code === 200)
  }
  const timer = setInterval(() => {
    look().catch(() => undefined)
  }, intervalMs)
  const found = () => ready.map((address) => ({ address, family: 4 }))
  const agent = new Agent({ connections: 10, connect: { lookup: (_name, _options, done) => done(null, found()) } })
  return { agent, stop: () => clearInterval(timer) }
}

/** Creates a key by the command of one release, revokes it by that of another, and frees its slot by that of the first. */
async function expectKeyEnds(url: string, creating: string, revoking: string): Promise<void> {
  const keys = (root: string, ...args: string[]): Promise<Run> =>
    runCommand('keys', [...args, '--team', team], pipeline.names, { root })
  const { stdout, stderr } = await keys(creating, 'create', '--name', 'release')
  const [authorization, id = ''] = [`Bearer ${stdout.trim()}`, /key_[A-Za-z0-9_-]+/.exec(stderr)?.[0]]
  const status = async (): Promise<number> =>
    (await fetch(`${url}/api/v1/forms?limit=1`, { headers: { authorization } })).status
  expect(await status()).toBe(200)
  expect((await keys(revoking, 'revoke', '--id', id)).code).toBe(0)
  expect(await status()).toBe(401)
  expect((await keys(creating, 'delete', '--id', id)).code).toBe(0)
}

describeNginx('a release', () => {
  test(
    'rolls out to every process one after the other, and back to the previous release, without a lost request or record',
    async () => {
      const before = (await checkOutReleaseBefore(folder)) ?? '.'
      const indexers = await Promise.all([1, 2].map(() => pipeline.startIndexer({}, before)))
      await pipeline.createKeys([team])
      const apis = await startFleet(pipeline.startApi, before)
      const signIn = { SIGN_IN_ISSUER: 'a', SIGN_IN_SECRET: 's'.repeat(32) }
      const settings = await startFleet((own, root) => pipeline.startSettings({ ...signIn, ...own }, root), before)
      const upstream = (port: number): string =>
        addresses.map((address) => `server ${address}:${port} max_fails=0;`).join(' ')
      const configuration = (port: number): string =>
        [
          shippedFor(port, upstream(apis.port)),
          `upstream settings { ${upstream(settings.port)} keepalive 8; }`,
          `server { listen 127.0.0.2:${port}; location / { proxy_pass http://settings; proxy_http_version 1.1; proxy_set_header Connection ""; } }`,
        ].join('\n')
      const nginx = closeAfterwards(await startNginx(configuration))
      const front = { url: nginx.url }
      await eventually(async () => (await pipeline.get(front, team, '/api/v1/records')).status === 200)
      const writer = startSteadyWriter(pipeline, { seed: 51, perSecond: 50, team })
      const reader = startPollingReader(pipeline, nginx, writer)
      const followers = (['forms', 'records'] as const).map((list) =>
        follow(pipeline, { url: nginx.url, team, list, signal: over.signal }),
      )
      const authorization = `Bearer ${pipeline.keyOf(team)}`
      const resolver = resolveReady(apis.serving, 250)
      const plain = new Agent({ connections: 10 })
      const byName = `http://api.internal:${apis.port}/api/v1/forms?limit=5`
      const ended = {
        throughNginx: askSteadily(`${nginx.url}/api/v1/records?limit=5`, authorization, plain, perSecond.nginx),
        byAddresses: askSteadily(byName, authorization, resolver.agent, perSecond.resolver),
        settings: askSteadily(nginx.url.replace('127.0.0.1', '127.0.0.2'), '', plain, perSecond.settings),
      }
      let root = before
      for (let release = 0; release < releases; release++) {
        const earlier = root
        root = release % 2 === 0 ? '.' : before
        await apis.replaceAll(root)
        for (const [at, indexer] of indexers.entries()) {
          expect(await indexer.end('SIGTERM')).toBe(0)
          indexers[at] = await pipeline.startIndexer({}, root)
        }
        await expectKeyEnds(nginx.url, earlier, root)
        await settings.replaceAll(root)
      }
      const stopped = Object.entries(ended).map(async ([who, stop]) => [who, await stop()] as const)
      const told = Object.fromEntries(await Promise.all(stopped))
      resolver.stop()
      await Promise.all([resolver.agent.close(), plain.close()])
      await expectNothingLost(pipeline, { front, writer, reader, followers })
      const expected = { throughNginx: '200', byAddresses: '200', settings: '303' }
      const statuses = Object.entries(told).map(([who, counts]) => [who, Object.keys(counts).join()])
      expect(Object.fromEntries(statuses)).toEqual(expected)
    },
    240_000 + releases * 90_000,
  )
})
