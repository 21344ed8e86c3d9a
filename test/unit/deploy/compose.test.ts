import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type Need, readConfig } from '../../../src/core/config/config.ts'

type Service = {
  readonly image: string
  readonly build?: object
  readonly pull_policy?: string
  readonly restart: string
  readonly init?: boolean
  readonly scale?: number
  readonly profiles?: readonly string[]
  readonly tmpfs?: readonly string[]
  readonly read_only: boolean
  readonly privileged?: boolean
  readonly environment: Readonly<Record<string, string | number>>
  readonly ports?: readonly string[]
  readonly networks: readonly string[]
  readonly volumes?: readonly string[]
  readonly healthcheck: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>
}
type ComposeFile = {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
  readonly volumes: Readonly<Record<string, null>>
}

const text = readFileSync('docker-compose.yml', 'utf8')
const { services, networks, volumes } = parse(text, { merge: true }) as ComposeFile
const engines = ['elasticsearch', 'kafka', 'redis']
const needs: Readonly<Record<string, readonly Need[]>> = {
  api: ['ELASTICSEARCH_URL', 'REDIS_URL'],
  indexer: ['ELASTICSEARCH_URL', 'KAFKA_BROKERS', 'REDIS_URL'],
  settings: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
  sample: ['KAFKA_BROKERS', 'REDIS_URL'],
}
const processes = Object.keys(needs)
/** What the public images declare as volumes. */
const declaredVolumes: Readonly<Record<string, readonly string[]>> = {
  elasticsearch: [],
  kafka: ['/etc/kafka/secrets', '/mnt/shared/config', '/var/lib/kafka/data'],
  redis: ['/data'],
}
const service = (name: string): Service => services[name] as Service

/** What Compose makes of `${NAME:-default}` for a user who has set `given`. */
function interpolated(value: string | number, given: Readonly<Record<string, string>>): string {
  let result = String(value)
  for (let before = ''; before !== result; ) {
    before = result
    result = result.replace(/\$\{(\w+):-([^${}]*)\}/, (_, name: string, fallback: string) => given[name] || fallback)
  }
  return result
}

const environmentOf = (name: string, given: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(service(name).environment).map(([variable, value]) => [variable, interpolated(value, given)]),
  )

test.each(Object.keys(services))('%s has limits of memory and processes, and no privileges', (name) => {
  const { image, privileged, read_only: isReadOnly, ...each } = service(name)
  expect(each).toMatchObject({
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: expect.stringMatching(/^\d+[mg]$/),
    cpus: expect.any(Number),
    pids_limit: expect.any(Number),
    stop_grace_period: expect.stringMatching(/^\d+s$/),
    logging: { options: { 'max-size': '10m', 'max-file': '3' } },
  })
  expect([privileged, isReadOnly]).toEqual([undefined, name !== 'elasticsearch'])
  if (engines.includes(name)) expect(image).toMatch(/:\d/)
})

test.each(engines)('%s restarts whenever it ends, and has a health check', (name) => {
  const { restart, healthcheck } = service(name)
  expect([restart, healthcheck.test?.[0]]).toEqual(['unless-stopped', 'CMD'])
})

const lasting = processes.filter((name) => name !== 'sample')
test.each(lasting)('%s restarts when it fails or hangs, but not for ever when it cannot start', (name) => {
  const { restart, init, healthcheck } = service(name)
  expect({ restart, init }).toEqual({ restart: 'on-failure:5', init: true })
  expect(healthcheck.test).toEqual(['CMD', 'tidemark', 'health', '/readyz'])
})

test('the sample ends by itself', () => {
  expect(service('sample')).toMatchObject({ restart: 'no', healthcheck: { disable: true } })
})

test('`docker compose down -v` removes everything: it has every service, and every volume has a name', () => {
  expect(Object.values(services).flatMap(({ profiles = [] }) => profiles)).toEqual([])
  expect(Object.keys(services).filter((name) => service(name).scale === 0)).toEqual(['sample'])
  for (const name of engines) {
    const { volumes: named = [], tmpfs = [] } = service(name)
    const mounted = [...named.map((volume) => volume.split(':')[1]), ...tmpfs.map((mount) => mount.split(':')[0])]
    expect(mounted).toEqual(expect.arrayContaining([...(declaredVolumes[name] ?? [])]))
  }
})

test('all processes run one image, which one of them builds and none pulls', () => {
  expect(new Set(processes.map((name) => service(name).image)).size).toBe(1)
  expect(processes.filter((name) => service(name).build !== undefined)).toEqual(['api'])
  expect(new Set(processes.map((name) => service(name).pull_policy))).toEqual(new Set(['never']))
})

test('only the API, the settings area and the status pages of up to ten indexers are published, on loopback', () => {
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
    ports.map((port) => `${name} ${interpolated(port, {})}`),
  )
  const expected = ['api 127.0.0.1:3000:3000', 'indexer 127.0.0.1:9102-9111:9100', 'settings 127.0.0.1:3001:3001']
  expect(published.sort()).toEqual(expected)
})

test.each(['api', 'indexer', 'settings'])('the admin port of %s accepts the name of its service as host', (name) => {
  expect(environmentOf(name)['ADMIN_ALLOWED_HOSTS']).toBe(name)
})

test('an engine is alone in an internal network, and keeps its data', () => {
  for (const name of engines) {
    expect(service(name)).toMatchObject({ networks: [name], volumes: [expect.stringMatching(`^${name}:/`)] })
    expect(networks[name]).toEqual({ internal: true })
  }
  expect(Object.keys(volumes).sort()).toEqual([...engines, 'sample', 'verification'])
})

test.each(processes)('%s reaches the engines that it uses and no other, and starts after them', (name) => {
  const { ELASTICSEARCH_URL = '', KAFKA_BROKERS = '', REDIS_URL = '' } = environmentOf(name)
  const used = [URL.parse(ELASTICSEARCH_URL)?.hostname, KAFKA_BROKERS.split(':')[0], URL.parse(REDIS_URL)?.hostname]
  const hosts = engines.filter((engine) => used.includes(engine))
  expect(service(name).networks).toEqual(['outside', ...hosts])
  expect(hosts.length).toBe(needs[name]?.filter((need) => need !== 'sign-in').length)
  const waitsFor = service(name).depends_on ?? {}
  if (name === 'sample') return expect(waitsFor).toEqual(['api', 'indexer'])
  expect(Object.keys(waitsFor)).toEqual(hosts)
  for (const { condition } of Object.values(waitsFor)) expect(condition).toBe('service_healthy')
})

test('the file has no secrets, which come from the environment', () => {
  const secret = /SECRET|PASSWORD|API_KEY|TOKEN/
  const variables = Object.values(services).flatMap(({ environment }) => Object.entries(environment ?? {}))
  const named = variables.filter(([name]) => secret.test(name))
  expect(named).toEqual([['SIGN_IN_SECRET', `\${SIGN_IN_SECRET:-}`]])
  expect(text).not.toMatch(/:\/\/[^\s/]*@/)
})

test.each(processes)('%s has every variable that it needs, except those of sign-in, which are optional', (name) => {
  const lacking = readConfig(environmentOf(name), needs[name] ?? [])
  const names = lacking.ok ? [] : lacking.problems.map(({ path }) => path)
  expect(names).toEqual(name === 'settings' ? ['SIGN_IN_ISSUER', 'SIGN_IN_SECRET'] : [])
  const given = { SIGN_IN_ISSUER: 'https://quiz.example', SIGN_IN_SECRET: 'x'.repeat(32) }
  expect(readConfig(environmentOf(name, given), needs[name] ?? [])).toMatchObject({ ok: true })
})
