import { mutants } from './mutants/mutants.ts'
import { simulate, simulationTimeoutMs } from './simulate.ts'

test.concurrent.each(Object.entries(mutants))(
  'the planted fault %s is found within 500 histories',
  async (name, { seed }) => {
    const histories = ['--first', `${seed}`, '--seeds', '500']
    const { code, stdout } = await simulate('--mutant', name, ...histories, '--processes', '1')
    expect(stdout).toMatch(/^seed \d+ breaks: (?!the simulation itself)/m)
    expect(code).toBe(1)
  },
  simulationTimeoutMs,
)
