import { readFileSync } from 'node:fs'
import { mutants } from '../../simulation/mutants/mutants.ts'

test.each(Object.entries(mutants))(
  'the text that the planted fault %s replaces is in its file once',
  (_, { file, from }) => {
    expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2)
  },
)
