import kafkajs from 'kafkajs'
import { rebuildGroup } from '../../indexer/startOffsets.ts'
import { eventually } from '../support/eventually.ts'
import { expectWhole, untilServes } from '../support/indexingProgress.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, startProgram } from '../support/programs.ts'
import { randomHistory } from '../support/randomHistory.ts'
import { startServing } from '../support/startServing.ts'
import { withAdmin } from '../support/topics.ts'

const pipeline = usePipeline({ forEachTest: true })

/** So slow that members come and go while the generation is filled. */
const settings = { MAX_RECORDS_PER_SECOND: '150' }
const startRebuild = (...args: string[]): Promise<Program> =>
  startProgram('rebuild', { ...pipeline.names, ...settings }, args)

/** For each process in the group of rebuilds, how many partitions it reads. */
const partitionsByMember = (): Promise<number[]> =>
  withAdmin(pipeline.kafka, async (admin) => {
    const { groups } = await admin.describeGroups([rebuildGroup(pipeline.names.CONSUMER_GROUP)])
    const { decode } = kafkajs.AssignerProtocol.MemberAssignment
    return groups.flatMap(({ members }) =>
      members.map(({ memberAssignment }) => Object.values(decode(memberAssignment)?.assignment ?? {}).flat().length),
    )
  })
const untilShared = (count: number): Promise<void> =>
  eventually(async () => {
    const partitions = await partitionsByMember()
    return partitions.length === count && partitions.every((read) => read > 0)
  })

test('members of a rebuild share its partitions: after one is killed and another one joins, the new generation has every record', async () => {
  const history = randomHistory(27, 4_000)
  const { api } = await startServing(pipeline, history)

  const early = await startRebuild('--member', '1')
  const rebuild = await startRebuild()
  const late = await startRebuild('--member', '1')
  await untilShared(3)
  await early.end('SIGKILL')
  const next = await startRebuild('--member', '1')
  await eventually(() => next.log().includes('generation 2 is filled'))

  expect(await untilServes(rebuild)).toBe(2)
  expect(rebuild.log()).toContain('waiting until the members have left')
  // An upgrade waits for every member.
  for (const member of [late, next]) {
    expect(await member.ended()).toBe(0)
    expect(member.log()).toMatch(/needs no members any more\n+generation 2 serves/)
  }
  await expectWhole(pipeline, api, history)
})

test('a killed rebuild continues with its members when it is started again', async () => {
  const history = randomHistory(28, 3_000)
  const { api } = await startServing(pipeline, history)

  const member = await startRebuild('--member', '1')
  const killed = await startRebuild()
  await untilShared(2)
  await killed.end('SIGKILL')
  const rebuild = await startRebuild()
  expect(await untilServes(rebuild)).toBe(2)
  expect(await member.ended()).toBe(0)
  expect(member.log().match(/generation 2 is filled/g)).toHaveLength(2)
  await expectWhole(pipeline, api, history)
})
