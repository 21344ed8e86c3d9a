import { type ChildProcess, fork } from 'node:child_process'
import type { WorkerProcess } from './rebuildMessages.ts'

const program = new URL('./rebuildWorker.ts', import.meta.url)

/** Starts a process of the system that reads for a rebuild. */
export function forkWorker(): WorkerProcess {
  const child = fork(program, { serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return {
    name: String(child.pid),
    // Whoever cannot be told any more has ended, or is about to.
    send: (message) => {
      child.send(message, () => undefined)
    },
    onMessage: (take) => {
      child.on('message', take)
    },
    kill: () => {
      child.kill('SIGKILL')
    },
    ended: untilEnded(child),
  }
}

const untilEnded = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `has ended with code ${code}` : `was ended by ${signal}`),
    )
    child.on('error', (error) => {
      // It was not started; a message that could not be sent is followed by its end.
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`)
    })
  })
