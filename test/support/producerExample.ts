import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const deadlineMs = 120_000

export type ProducedChange = { readonly topic: string; readonly key: string; readonly value: object | null }

/** Input of the producer examples: one transaction per line. */
export const exampleInput = (transactions: readonly (readonly ProducedChange[])[]): string =>
  transactions.map((changes) => `${JSON.stringify(changes)}\n`).join('')

/** Ends the connection once KafkaJS has sent its first EndTxn (API key 26), so that KafkaJS cannot know whether Kafka has committed. */
const endFirstCommit = `import { Socket } from 'node:net'
const { write } = Socket.prototype
Socket.prototype.write = function (data, ...rest) {
  if (data.readInt16BE?.(4) !== 26) return write.call(this, data, ...rest)
  Socket.prototype.write = write
  setImmediate(() => this.destroy(new Error('the connection is lost')))
  return write.call(this, data, ...rest)
}`
/** A Node option: KafkaJS gets no answer to its first commit. */
export const unansweredCommit = `--import=data:text/javascript,${encodeURIComponent(endFirstCommit)}`
const example = ['--disable-warning=TimeoutNegativeWarning', 'docs/producers/produceChanges.ts']

/** Runs the TypeScript producer example with a transactional id; resolves with its stderr, rejects when it fails. */
export async function runProducerExample(brokers: string, id: string, input: string, ...nodeOptions: string[]) {
  const args = [...nodeOptions, ...example, brokers, id]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'], timeout: deadlineMs })
  child.stdin.end(input)
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`the example ended with ${code}: ${stderr}`)
  return stderr
}
