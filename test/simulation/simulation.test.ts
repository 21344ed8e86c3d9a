import { simulate, simulationTimeoutMs } from './simulate.ts'

test(
  'a seed gives the same trace, byte for byte, whichever histories ran before',
  async () => {
    const many = await simulate('--first', '1', '--seeds', '12', '--processes', '1', '--digests')
    for (const seed of [7, 12]) {
      const [line = ''] = (await simulate('--seed', String(seed), '--digests')).stdout.split('\n')
      expect(line).toMatch(/^\d+ [0-9a-f]{64}$/)
      expect(many.stdout.split('\n')).toContain(line)
    }
  },
  simulationTimeoutMs,
)
