import Sequencer from '@jest/test-sequencer'

/** The slowest test files. Files that mostly wait alternate with files that compute, so that four at once keep all workers busy. */
const slowest = [
  'fault/replacedTopics',
  ...['fault/engineOutages', 'security/kafkaTokens', 'foreign/rollingRelease', 'fault/redisFailover'],
  ...['foreign/openapiTester', 'foreign/openapiClients', 'fault/rebuild', 'e2e/erase', 'foreign/outbox', 'e2e/verify'],
  ...['fault/forgottenDeletions', 'fault/largeRows', 'fault/kafkaFaults', 'integration/simulatedKafka'],
  ...['foreign/airbyteSource', 'fault/undecodableBatches', 'e2e/status', 'foreign/operatorsDashboard'],
  ...['security/elasticsearch', 'fault/losslessPolling', 'security/kafka', 'e2e/demo', 'foreign/helm', 'e2e/settings'],
  ...['fault/elasticsearchAnswers', 'foreign/dltSource', 'foreign/producers', 'contract/apiChangesWaiting'],
  ...['integration/bounds', 'integration/indexer', 'contract/apiLargeRows', 'contract/hostileRequests', 'e2e/sample'],
  ...['e2e/keysCommand', 'contract/titleProperties'],
]
const folders = ['fault', 'foreign', 'e2e', 'security', 'integration', 'contract', 'unit']
const ranks = [...slowest.map((file) => `/test/${file}.test.ts`), ...folders.map((folder) => `/test/${folder}/`)]
const rank = ({ path }) => ranks.findIndex((part) => path.includes(part))

/** Runs files that take minutes first, so that none of them keeps a single worker busy at the end. */
export default class SlowestFirst extends Sequencer {
  async sort(tests) {
    return (await super.sort(tests)).toSorted((a, b) => rank(a) - rank(b))
  }
}
