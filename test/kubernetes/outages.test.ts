import { setTimeout as sleep } from 'node:timers/promises'
import { type EngineName, engineNames } from '../../tools/engines/engines.ts'
import { hostAddress } from '../../tools/kubernetes/addresses.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startOwnEngines } from '../support/ownEngines.ts'
import { usePipeline } from '../support/pipeline.ts'
import { useNamespace, valuesFor } from './support/cluster.ts'

const outageMs = 60_000
const backWithinMs = 30_000
const refused = '503 application/json service_unavailable'
/** What is seen of new pages and of a known one. Without Redis no key can be looked up. */
const expected: Readonly<Record<EngineName, readonly string[]>> = {
  elasticsearch: ['304', refused],
  kafka: ['200', '304'],
  redis: [refused],
}
const team = 'acme'

const engines = useStarted('engines of its own', () => startOwnEngines(engineNames, { host: hostAddress }))
const pipeline = usePipeline()
const namespace = useNamespace()

type Answer = { readonly status: number; readonly etag: string; readonly what: string }

async function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${pipeline.keyOf(team)}`, ...headers },
    signal: AbortSignal.timeout(20_000),
  })
  const text = await response.text()
  const { status } = response
  const type = response.headers.get('content-type')?.split(';')[0]
  const code = status === 503 ? (JSON.parse(text) as { error: { code: string } }).error.code : ''
  const what = status === 503 ? `503 ${type} ${code}` : String(status)
  return { status, etag: response.headers.get('etag') ?? '', what }
}

describe('while an engine is gone for a minute', () => {
  let url = ''
  beforeAll(async () => {
    await namespace.deploy('install', valuesFor(pipeline))
    await pipeline.createKeys([team])
    url = `${await namespace.urlOf('tidemark-api')}/api/v1/records?limit=5`
    await eventually(async () => (await ask(url)).status === 200)
  }, 400_000)

  test.each(engineNames)(
    '%s: the Service answers, no pod is restarted, and all is well within seconds',
    async (name: EngineName) => {
      const submission = submissionEntity({ id: `before-${name}` })
      await pipeline.produce('submissions', [
        { key: `${team}/${submission.id}`, value: JSON.stringify({ revision: 1, submission }) },
      ])
      await pipeline.untilApplied({ url: new URL(url).origin }, team)
      const { etag } = await ask(url)
      const engine = engines.engine(name)
      await engine.stop()
      const endMs = Date.now() + outageMs
      const seen = new Map<string, number>()
      // New pages, then the one whose ETag is known.
      for (let turn = 2; Date.now() < endMs; turn++) {
        const asked = turn % 2 === 0 ? ask(`${url}&page=${turn}`) : ask(url, { 'if-none-match': etag })
        const { what } = await asked
        seen.set(what, (seen.get(what) ?? 0) + 1)
        await sleep(300)
      }
      await engine.start()
      const backAtMs = Date.now()
      await eventually(async () => (await ask(`${url}&page=1000`)).status === 200)
      const tookMs = Date.now() - backAtMs
      process.stderr.write(`${name} away: ${JSON.stringify(Object.fromEntries(seen))}; back after ${tookMs} ms\n`)
      expect([...seen.keys()].toSorted()).toEqual(expected[name])
      expect(new Set(await namespace.restarts())).toEqual(new Set([0]))
      expect(tookMs).toBeLessThan(backWithinMs)
      await pipeline.untilApplied({ url: new URL(url).origin }, team)
    },
    300_000,
  )
})
