import { checkDeadLetterSize, readTopicRules } from '../../../indexer/topics.ts'
import { passed, problemIn } from '../../../src/core/monitoring/health.ts'
import { testConfig } from '../../support/config.ts'
import { sourceOfSettings } from '../../support/topicSettings.ts'

const settings = {
  ...{ 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime', 'delete.retention.ms': '86400000' },
}

const config = testConfig({ ELASTICSEARCH_URL: 'http://es:9200', REDIS_URL: 'redis://redis' })

/** What is read of topics whose settings are these, but for `changes` of the submissions. */
const rulesWith = (changes: Readonly<Record<string, string>>) => {
  const settingsOf = (topic: string) => ({ ...settings, ...(topic === 'submissions' && changes) })
  return readTopicRules(sourceOfSettings(settingsOf), config)
}

test('a purely compacted topic keeps deletions for its delete.retention.ms', async () => {
  const keptMs = { forms: 86_400_000, submissions: 1_000, 'account-keys': 86_400_000 }
  expect(await rulesWith({ 'delete.retention.ms': '1000' })).toEqual({
    hasAppendTimes: true,
    wrongPolicies: {},
    keptMs,
  })
})

test.each(['delete', 'compact,delete', 'delete,compact'])(
  'a topic of policy %s keeps deletions for no certain time',
  async (policy) => {
    const { wrongPolicies, keptMs } = await rulesWith({ 'cleanup.policy': policy })
    expect(wrongPolicies).toEqual({ submissions: policy })
    expect(keptMs['submissions']).toBeLessThan(0)
  },
)

test.each([
  ['more than any record and its reason', 1_004_096, undefined],
  ['no more than a record', 1_000_000, '1000000 bytes, less than 1000000 of submissions and a reason'],
  [
    'less than every record',
    500,
    '500 bytes, less than 900 of forms, 1000000 of submissions, 900 of account-keys and a',
  ],
])('dead letters that may have %s: whether all have room', async (_, maxBytes, problem) => {
  const bounds: Record<string, number> = { submissions: 1_000_000, 'dead-letters': maxBytes }
  const source = sourceOfSettings((topic) => ({ 'max.message.bytes': bounds[topic] ?? 900 }))
  const outcome = await checkDeadLetterSize(source, config)
  if (problem === undefined) expect(outcome).toEqual(passed)
  else expect(problemIn(outcome)).toMatch(`dead-letters takes records of ${problem}`)
})
