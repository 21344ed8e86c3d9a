import { aliasOf } from '../../src/core/elasticsearch/indices.ts'
import { eventually, succeeds } from '../support/eventually.ts'
import { usePipeline } from '../support/pipeline.ts'
import { randomHistory, stateRecord } from '../support/randomHistory.ts'
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

const values = () =>
  valuesFor(pipeline, {
    rebuild: { members: 2, resources: { requests: { cpu: '100m', memory: '256Mi' } } },
    verify: { enabled: true, shares: 2, parallelism: 2, resources: { requests: { cpu: '100m', memory: '256Mi' } } },
  })

/** The name of the index that serves forms. */
async function servingIndex(): Promise<string> {
  const aliases = await pipeline.elasticsearch.indices.getAlias({ name: aliasOf(pipeline.names.INDEX_PREFIX, 'forms') })
  return Object.keys(aliases).join()
}

describe('jobs of an installation', () => {
  beforeAll(async () => {
    await namespace.deploy('install', values())
    await pipeline.createKeys(['acme'])
    await pipeline.produceHistory(randomHistory(7, 600).records)
  }, 400_000)

  test('the command of the notes rebuilds with two members, although the first one is killed', async () => {
    const before = await servingIndex()
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
    expect(await servingIndex()).not.toBe(before)
  }, 400_000)

  test('a verification in two shares finds no difference, then the one that was made', async () => {
    await namespace.kubectl('create', 'job', '--from=cronjob/tidemark-verify', 'verify-1')
    await eventually(() => hasEnded('verify-1', 'Complete'))
    expect(await logsOf('verify-1')).toMatch(/equal; /)

    const lost = { id: 'acme/lost', routing: 'acme' }
    await pipeline.produce('forms', [stateRecord('forms', lost.id, 1)])
    const index = aliasOf(pipeline.names.INDEX_PREFIX, 'forms')
    await eventually(() => succeeds(pipeline.elasticsearch.delete({ index, ...lost, refresh: true })))
    await namespace.kubectl('create', 'job', '--from=cronjob/tidemark-verify', 'verify-2')
    await eventually(() => hasEnded('verify-2', 'Failed'))
    expect(await logsOf('verify-2')).toMatch(/missing/)
    // The other share had nothing to do with it, and an exit code that a repetition would not change is not repeated.
    expect((await jobOf('verify-2')).status).toMatchObject({ succeeded: 1, failed: 1 })
  }, 400_000)

  test('an upgrade with rebuild.onUpgrade serves new indices before it replaces a pod', async () => {
    const before = await servingIndex()
    const now = values()
    const config = { ...(now['config'] as Record<string, string>), INDEX_SHARDS: '2' }
    await namespace.deploy('upgrade', { ...now, config, rebuild: { onUpgrade: true } })
    expect(await servingIndex()).not.toBe(before)
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
