import { readFileSync } from 'node:fs'
import { mutants } from '../../simulation/mutants/mutants.ts'

test.each(mutants)('the text that the planted fault $name replaces is in its file once', ({ file, from }) => {
  expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2)
})
