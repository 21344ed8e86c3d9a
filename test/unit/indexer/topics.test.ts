import { readTopicRules } from '../../../indexer/topics.ts'
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

test('a purely compacted topic keeps deletions for as long as it says', async () => {
  const keptMs = { forms: 86_400_000, submissions: 1_000 }
  expect(await rulesWith({ 'delete.retention.ms': '1000' })).toEqual({ hasAppendTimes: true, forgetful: {}, keptMs })
})

test.each(['delete', 'compact,delete', 'delete,compact'])('a topic of policy %s keeps none surely', async (policy) => {
  const { forgetful, keptMs } = await rulesWith({ 'cleanup.policy': policy })
  expect(forgetful).toEqual({ submissions: policy })
  expect(keptMs['submissions']).toBeLessThan(0)
})
