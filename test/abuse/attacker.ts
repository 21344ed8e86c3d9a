import { parentPort, workerData } from 'node:worker_threads'
import { scenarios, type Target } from './scenarios.ts'

/** What a thread of this file does once. */
export type Attack = { readonly name: string; readonly target: Target; readonly times: number }

// The event loop of a client that floods is as busy as the server's: a plain client beside it would measure that.
const { name, target, times } = workerData as Attack
parentPort?.postMessage(await scenarios.find((scenario) => scenario.name === name)?.run(target, times))
