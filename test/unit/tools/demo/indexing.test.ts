import type { Admin } from 'kafkajs'
import { untilIndexed, untilTopicsExist } from '../../../../tools/demo/indexing.ts'

const topics = { TOPIC_FORMS: 'forms', TOPIC_SUBMISSIONS: 'submissions' }
const signal = AbortSignal.timeout(30_000)

test('topics exist once both are listed', async () => {
  const listings = [[], ['forms'], ['forms', 'submissions', 'others']]
  const listTopics = async (): Promise<string[]> => listings.shift() ?? []
  await untilTopicsExist({ listTopics } as unknown as Admin, topics, signal)
  expect(listings).toEqual([])
})

test('all is indexed once every partition is committed to its end; a refused question is asked again', async () => {
  const committed = ['-1', '4', '10']
  const refusals = ['once']
  const fetchOffsets = async () => {
    if (committed.length === 2 && refusals.pop() !== undefined) throw new Error('the coordinator is loading')
    const offset = committed.shift() ?? '10'
    return Object.values(topics).map((topic) => ({ topic, partitions: [{ partition: 0, offset, metadata: null }] }))
  }
  const fetchTopicOffsets = async () => [
    { partition: 0, offset: '10', high: '10', low: '0' },
    { partition: 1, offset: '0', high: '0', low: '0' },
  ]
  const admin = { fetchOffsets, fetchTopicOffsets } as unknown as Admin
  const reports: [number, number][] = []
  const report = (indexed: number, produced: number): void => {
    reports.push([indexed, produced])
  }
  await untilIndexed(admin, { topics, groupId: 'group', signal, report })
  expect(reports).toEqual([
    [0, 20],
    [8, 20],
    [20, 20],
  ])
})
