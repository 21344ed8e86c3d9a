import Sequencer from '@jest/test-sequencer'

/** The longest first. */
const slowest = [
  'fault/engineOutages',
  'fault/rebuild',
  'fault/elasticsearchAnswers',
  'foreign/openapiTester',
  'e2e/status',
  'e2e/verify',
  'foreign/airbyteSource',
  'fault/forgottenDeletions',
  'integration/simulatedKafka',
  'security/kafka',
  'fault/largeRows',
  'e2e/settings',
  'fault/kafkaFaults',
  'fault/undecodableBatches',
  'fault/redisFailover',
  'contract/apiWaiting',
  'e2e/demo',
  'security/elasticsearch',
  'fault/losslessPolling',
  'integration/bounds',
  'integration/indexer',
  'contract/apiLargeRows',
  'contract/hostileHeaders',
  'e2e/sample',
  'e2e/keysCommand',
  'contract/titleProperties',
]
const folders = ['fault', 'foreign', 'e2e', 'security', 'integration', 'contract', 'unit']
const ranks = [...slowest.map((file) => `/test/${file}.test.ts`), ...folders.map((folder) => `/test/${folder}/`)]
const rank = ({ path }) => ranks.findIndex((part) => path.includes(part))

/** Begins with the files that take minutes, so that no worker is left alone with one of them at the end. */
export default class SlowestFirst extends Sequencer {
  async sort(tests) {
    return (await super.sort(tests)).toSorted((a, b) => rank(a) - rank(b))
  }
}
