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
const team = 'acme'

const engines = useStarted('engines of its own', () => startOwnEngines(engineNames, { host: hostAddress }))
const pipeline = usePipeline()
const namespace = useNamespace()

type Answer = { readonly status: number; readonly type: string; readonly code: string }

async function ask(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${pipeline.keyOf(team)}`, ...headers },
    signal: AbortSignal.timeout(20_000),
  })
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const code = response.status === 503 ? (JSON.parse(text) as { error: { code: string } }).error.code : ''
  return { status: response.status, type, code }
}

const restarts = async (): Promise<number[]> => {
  const pods = [...(await namespace.pods('api')), ...(await namespace.pods('indexer'))]
  return pods.flatMap(({ status }) => status.containerStatuses?.map(({ restartCount }) => restartCount) ?? [])
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
      const engine = engines.engine(name)
      await engine.stop()
      const endMs = Date.now() + outageMs
      const seen = new Map<string, number>()
      for (let turn = 0; Date.now() < endMs; turn++) {
        const { status, type, code } = await ask(`${url}&page=${1 + (turn % 50)}`)
        const what = status === 503 ? `503 ${type.split(';')[0]} ${code}` : String(status)
        seen.set(what, (seen.get(what) ?? 0) + 1)
        await sleep(500)
      }
      const during = await restarts()
      await engine.start()
      const backMs = Date.now()
      await eventually(async () => (await ask(url)).status === 200)
      process.stderr.write(
        `${name} away: ${JSON.stringify(Object.fromEntries(seen))}; back after ${Date.now() - backMs} ms\n`,
      )
      expect(during).toEqual(during.map(() => 0))
      expect(await restarts()).toEqual(during)
    },
    300_000,
  )
})
