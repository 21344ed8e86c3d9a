import { eventually } from '../support/eventually.ts'
import { indexName } from '../support/names.ts'
import { usePipeline } from '../support/pipeline.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { useNamespace, valuesFor } from './support/cluster.ts'

const pipeline = usePipeline()
const namespace = useNamespace()

type Job = {
  readonly status: {
    readonly succeeded?: number
    readonly failed?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}
const jobOf = async (name: string): Promise<Job> =>
  JSON.parse(await namespace.kubectl('get', 'job', name, '--output', 'json')) as Job
const hasEnded = async (name: string, type: string): Promise<boolean> =>
  (await jobOf(name)).status.conditions?.some((condition) => condition.type === type && condition.status === 'True') ??
  false

/** The command by which the notes of an installation start a rebuild. */
async function rebuildCommand(): Promise<string[]> {
  const notes = await namespace.helm('get', 'notes', 'tidemark')
  const [, command = ''] = /^New indices.*: kubectl (.*)$/m.exec(notes) ?? []
  return command.trim().split(' ')
}

const values = valuesFor(pipeline, {
  rebuild: { members: 2, resources: { requests: { cpu: '100m', memory: '256Mi' } } },
  verify: { enabled: true, shares: 2, parallelism: 2, resources: { requests: { cpu: '100m', memory: '256Mi' } } },
})

const isServed = async (generation: number): Promise<boolean> =>
  pipeline.elasticsearch.indices.existsAlias({
    index: await indexName(pipeline.names.INDEX_PREFIX, 'forms', generation),
    name: `${pipeline.names.INDEX_PREFIX}-*`,
  })

describe('jobs of an installation', () => {
  beforeAll(async () => {
    await pipeline.createKeys(['acme'])
    await namespace.deploy('install', values)
    await pipeline.produceHistory(randomHistory(7, 600).records)
  }, 400_000)

  test('the command of the notes rebuilds with two members, although the first one is killed', async () => {
    const [, , ...command] = await rebuildCommand()
    await namespace.kubectl(...command)
    await eventually(async () => {
      const [leader] = await podsOfJob('rebuild-1', 0)
      return leader?.status.phase === 'Running'
    })
    const [killed] = await podsOfJob('rebuild-1', 0)
    await namespace.kubectl('delete', 'pod', killed?.metadata.name ?? '', '--grace-period=0', '--force')
    await eventually(() => hasEnded('rebuild-1', 'Complete'))
    expect((await podsOfJob('rebuild-1', 0)).map(({ metadata }) => metadata.name)).not.toContain(killed?.metadata.name)
    expect(await isServed(2)).toBe(true)
  }, 400_000)

  test('a verification in two shares finds no difference, then the one that was made', async () => {
    await namespace.kubectl('create', 'job', '--from=cronjob/tidemark-verify', 'verify-1')
    await eventually(() => hasEnded('verify-1', 'Complete'))
    expect(await logsOf('verify-1')).toMatch(/equal; /)

    const index = await indexName(pipeline.names.INDEX_PREFIX, 'forms', 2)
    const { hits } = await pipeline.elasticsearch.search({ index, size: 1, query: { exists: { field: 'id' } } })
    const [lost] = hits.hits
    await pipeline.elasticsearch.delete({ index, id: lost?._id ?? '', routing: lost?._routing ?? '', refresh: true })
    await namespace.kubectl('create', 'job', '--from=cronjob/tidemark-verify', 'verify-2')
    await eventually(() => hasEnded('verify-2', 'Failed'))
    expect(await logsOf('verify-2')).toMatch(/missing/)
    // The other share had nothing to do with it, and an exit code that a repetition would not change is not repeated.
    expect((await jobOf('verify-2')).status).toMatchObject({ succeeded: 1, failed: 1 })
  }, 400_000)

  test('an upgrade with rebuild.onUpgrade serves new indices before it replaces a pod', async () => {
    const config = { ...(values['config'] as Record<string, string>), INDEX_SHARDS: '2' }
    await namespace.deploy('upgrade', { ...values, config, rebuild: { onUpgrade: true } })
    expect(await isServed(3)).toBe(true)
    expect(await namespace.kubectl('get', 'jobs', '--output', 'name')).not.toContain('on-upgrade')
    expect(await namespace.helm('test', 'tidemark')).toMatch(/Phase: +Succeeded/)
  }, 400_000)
})

async function podsOfJob(job: string, index: number) {
  const pods = await namespace.podsWith(
    `batch.kubernetes.io/job-name=${job},batch.kubernetes.io/job-completion-index=${index}`,
  )
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

const logsOf = (job: string): Promise<string> =>
  namespace.kubectl('logs', '--selector', `batch.kubernetes.io/job-name=${job}`, '--tail=-1')
