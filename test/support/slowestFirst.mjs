import Sequencer from '@jest/test-sequencer'

/** The longest first. */
const slowest = [
  'fault/engineOutages',
  'fault/rebuild',
  'fault/elasticsearchAnswers',
  'e2e/verify',
  'e2e/status',
  'foreign/openapiTester',
  'integration/indexer',
  'fault/skewedClocks',
  'e2e/settings',
  'fault/kafkaFaults',
  'fault/groupFaults',
  'security/elasticsearch',
  'security/kafka',
  'e2e/demo',
  'foreign/airbyteSource',
  'contract/apiRecordCounts',
  'integration/bounds',
  'integration/lateAccountKeyRecords',
  'contract/apiFullView',
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
