import Sequencer from '@jest/test-sequencer'

const folders = ['fault', 'e2e', 'security', 'integration', 'contract', 'unit']
const rank = ({ path }) => folders.findIndex((folder) => path.includes(`/test/${folder}/`))

/** Begins with the folders whose files take minutes, so that no worker is left alone with one of them at the end. */
export default class SlowestFirst extends Sequencer {
  async sort(tests) {
    return (await super.sort(tests)).toSorted((a, b) => rank(a) - rank(b))
  }
}
