import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { mutants } from './mutants/mutants.ts'

const program = new URL('main.ts', import.meta.url).pathname
const timeoutMs = 400_000

type Ended = { readonly code: number; readonly stdout: string }

/** Runs `npm run simulate` to its end. */
async function simulate(...options: string[]): Promise<Ended> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...options], { timeout: timeoutMs })
    return { code: 0, stdout }
  } catch (error) {
    const { code, stdout } = error as Ended
    return { code, stdout }
  }
}

test(
  'no invariant is broken in 2,000 histories',
  async () => {
    const { code, stdout } = await simulate('--seeds', '2000')
    expect(stdout).toMatch(/^2000 seeds in \d+ s, 0 broken$/m)
    expect(code).toBe(0)
  },
  timeoutMs,
)

test(
  'a seed gives the same trace, byte for byte, whatever ran before it',
  async () => {
    const many = await simulate('--first', '1', '--seeds', '12', '--processes', '1', '--digests')
    const digestsOf = async (seed: number): Promise<string> =>
      (await simulate('--seed', String(seed), '--digests')).stdout
    for (const seed of [1, 7, 12]) {
      const [line = ''] = (await digestsOf(seed)).split('\n')
      expect(line).toMatch(/^\d+ [0-9a-f]{64}$/)
      expect(many.stdout.split('\n')).toContain(line)
    }
  },
  timeoutMs,
)

test.each(mutants.map(({ name }) => name))(
  'the fault %s is found within 500 histories',
  async (name) => {
    const { code, stdout } = await simulate('--mutant', name, '--seeds', '500')
    expect(stdout).toMatch(/^seed \d+ breaks: /m)
    expect(code).toBe(1)
  },
  timeoutMs,
)
