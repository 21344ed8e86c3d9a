import Sequencer from '@jest/test-sequencer'

/** The slowest test files, slowest first. */
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

/** Runs files that take minutes first, so that none of them keeps a single worker busy at the end. */
export default class SlowestFirst extends Sequencer {
  async sort(tests) {
    return (await super.sort(tests)).toSorted((a, b) => rank(a) - rank(b))
  }
}
