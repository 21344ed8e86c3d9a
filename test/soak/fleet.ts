import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { type Program, startProgram } from '../support/programs.ts'

const startDeadlineMs = 120_000
const answerDeadlineMs = 10_000

/** The project's processes: two indexers and two APIs. */
export class Fleet {
  readonly indexers: Program[] = []
  readonly apis: Program[] = []
  readonly #names = new Map<Program, string>()
  /** Whatever ends from now on is meant to. */
  isDismissed = false

  /** Resolves once all are ready; `onEnd` is told of one that ends by itself. */
  async start(
    environment: Readonly<Record<string, string>>,
    onEnd: (what: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (const number of [1, 2])
      for (const kind of ['indexer', 'api'] as const) {
        const program = await startProgram(kind, { ...environment, RATE_LIMIT_PER_MINUTE: '100000000' })
        this[`${kind}s`].push(program)
        this.#names.set(program, `${kind}-${number}`)
        program.ended().then((code) => {
          if (!this.isDismissed) onEnd(`${kind}-${number} ended by itself with ${code}: ${program.log().slice(-1_500)}`)
        }, onEnd)
      }
    const isReady = async (): Promise<boolean> => (await this.unready()).length === 0
    if (!(await waitUntil(isReady, { deadlineMs: startDeadlineMs, signal })))
      throw new Error(`not ready: ${(await this.unready()).join('; ')}`)
  }

  /** What each process says of itself that is not ready, or of which a check fails. */
  async unready(): Promise<string[]> {
    const said = [...this.#names].map(async ([{ adminUrl }, name]) => {
      const answer = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(answerDeadlineMs) }).then(
        async (response) => {
          const said = (await response.text()).trim()
          return response.ok && !said.includes('"ok":false') ? '' : `${response.status} ${said}`
        },
        (error: Error) => `does not answer: ${error.message}`,
      )
      return answer === '' ? [] : [`${name}: ${answer}`]
    })
    return (await Promise.all(said)).flat()
  }

  /** Resident memory of the indexers in MiB. */
  async memory(): Promise<number[]> {
    const bytes = await Promise.all(this.indexers.map(({ metric }) => metric('process_resident_memory_bytes')))
    return bytes.map((each) => Math.round(each / 2 ** 20))
  }

  async writeLogs(folder: string): Promise<void> {
    for (const [program, name] of this.#names) await writeFile(join(folder, `${name}.log`), program.log())
  }
}
