import { mutants } from './mutants/mutants.ts'
import { simulate, simulationTimeoutMs } from './simulate.ts'

test.concurrent.each(Object.entries(mutants))(
  'the fault %s is found within 500 histories',
  async (name, { firstSeed = 1 }) => {
    const seeds = ['--first', String(firstSeed), '--seeds', '500', '--processes', '1']
    const { code, stdout } = await simulate('--mutant', name, ...seeds)
    expect(stdout).toMatch(/^seed \d+ breaks: (?!the simulation itself)/m)
    expect(code).toBe(1)
  },
  simulationTimeoutMs,
)
