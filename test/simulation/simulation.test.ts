import { simulate, simulationTimeoutMs } from './simulate.ts'

test(
  'no invariant is broken in 2,000 histories',
  async () => {
    const { code, stdout } = await simulate('--seeds', '2000')
    expect(stdout).toMatch(/^2000 seeds in \d+ s, 0 broken$/m)
    expect(code).toBe(0)
  },
  simulationTimeoutMs,
)

test(
  'a seed gives the same trace, byte for byte, whatever ran before it',
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
