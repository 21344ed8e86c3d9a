import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const deadlineMs = 120_000

export type ProducedChange = { readonly topic: string; readonly key: string; readonly value: object | null }

/** Input of the producer examples: one transaction per line. */
export const exampleInput = (transactions: readonly (readonly ProducedChange[])[]): string =>
  transactions.map((changes) => `${JSON.stringify(changes)}\n`).join('')

/** Runs the TypeScript producer example; resolves with its stderr, rejects when it fails. */
export async function runProducerExample(brokers: string, transactionalId: string, input: string): Promise<string> {
  const args = [
    '--disable-warning=TimeoutNegativeWarning',
    'docs/producers/produceChanges.ts',
    brokers,
    transactionalId,
  ]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'], timeout: deadlineMs })
  child.stdin.end(input)
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`the example ended with ${code}: ${said}`)
  return said
}
