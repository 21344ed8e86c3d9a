import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Json } from '../../support/randomHistory.ts'
import type { Classes } from './n8nPackage.ts'

export type Credential = { readonly baseUrl: string; readonly apiKey: string }

/** An execution that a trigger has begun: the items of its outputs. */
export type Execution = {
  readonly outputs: readonly (readonly Json[])[]
  /** Ends it: however an execution ends, n8n tells the trigger. */
  end(): void
}

const node = { id: 'node-1', name: 'Tidemark', type: 'n8n-nodes-tidemark.tidemark', typeVersion: 1 }

/** What n8n offers to nodes, as far as these nodes use it. */
export function functionsFor({ TidemarkApi }: Classes, credential: Credential, parameters: Json) {
  const request = async (_type: string, options: Json): Promise<Json> => {
    const { url, headers } = await new TidemarkApi().authenticate(credential, { headers: {}, ...options })
    const response = await fetch(url, { headers, signal: options.abortSignal ?? AbortSignal.timeout(options.timeout) })
    const stream = Readable.fromWeb((response.body ?? new ReadableStream()) as never)
    const body = options.encoding === 'stream' ? stream : await text(stream)
    return { statusCode: response.status, headers: Object.fromEntries(response.headers), body }
  }
  return {
    getNode: () => node,
    getWorkflow: () => ({ id: 'workflow-1' }),
    getCredentials: async () => credential,
    getNodeParameter: (name: string, ...rest: Json[]) => {
      const fallback = typeof rest[0] === 'number' ? rest[1] : rest[0]
      return parameters[name] ?? fallback
    },
    helpers: {
      httpRequestWithAuthentication: request,
      createDeferredPromise: () => Promise.withResolvers(),
    },
  }
}

/** Executes the node Tidemark with one item; resolves with the items that it returns, without what pairs them. */
export async function execute(classes: Classes, credential: Credential, parameters: Json): Promise<Json[]> {
  const functions = {
    ...functionsFor(classes, credential, parameters),
    getInputData: () => [{ json: {} }],
    continueOnFail: () => false,
  }
  const [items] = await new classes.Tidemark().execute.call(functions)
  return items.map(({ json }: Json) => json)
}

/** What survives n8n: the static data of a workflow in its database. */
export type Database = { staticData: string }

/**
 * A process of n8n with one active workflow. As in n8n, static data is stored after activation, and when an execution begins: before its row or after it.
 */
export class N8nProcess {
  readonly executions: Execution[] = []
  /** What the trigger has reported, by `emitError`, `saveFailedExecution` and the log. */
  readonly fatal: Error[] = []
  readonly failed: Json[] = []
  readonly warnings: string[] = []
  readonly #classes: Classes
  readonly #database: Database
  readonly #credential: Credential
  readonly #staticData: Json
  /** Whether an execution ends at once; otherwise when the test says so. */
  readonly #endsAtOnce: boolean
  #isDead = false
  #close: (() => Promise<void>) | undefined

  constructor(classes: Classes, database: Database, credential: Credential, { endsAtOnce = true } = {}) {
    this.#classes = classes
    this.#database = database
    this.#credential = credential
    this.#staticData = JSON.parse(database.staticData)
    this.#endsAtOnce = endsAtOnce
  }

  /** Activates the workflow; rejects with what the editor shows when that fails. */
  async activate(parameters: Json): Promise<void> {
    const all = { resource: 'submission', startFrom: 'now', ...parameters }
    const functions = {
      ...functionsFor(this.#classes, this.#credential, all),
      getMode: () => 'trigger',
      getWorkflowStaticData: () => this.#staticData,
      emit: (outputs: Json, _response: unknown, done: PromiseWithResolvers<unknown>) => this.#begin(outputs, done),
      emitError: (error: Error) => this.fatal.push(error),
      saveFailedExecution: (error: Error) => this.failed.push(error),
      logger: { warn: (message: string) => this.warnings.push(message) },
    }
    const { closeFunction } = await new this.#classes.TidemarkTrigger().trigger.call(functions)
    this.#close = closeFunction
    this.#store()
  }

  /** Shows what a test in the editor emits. */
  async sample(parameters: Json): Promise<Json> {
    let emitted: Json
    const functions = {
      ...functionsFor(this.#classes, this.#credential, { resource: 'submission', startFrom: 'now', ...parameters }),
      getMode: () => 'manual',
      emit: (outputs: Json) => {
        emitted = outputs
      },
    }
    const { manualTriggerFunction } = await new this.#classes.TidemarkTrigger().trigger.call(functions)
    await manualTriggerFunction()
    return emitted
  }

  /** Deactivates the workflow. */
  async deactivate(): Promise<void> {
    await this.#close?.()
  }

  /** Ends like a process that is killed: nothing more is stored, and no execution ends. */
  async kill(): Promise<void> {
    this.#isDead = true
    await this.#close?.()
  }

  #begin(outputs: Json, done: PromiseWithResolvers<unknown>): void {
    if (this.#isDead) return
    this.#store()
    this.executions.push({ outputs, end: () => this.#isDead || done.resolve({}) })
    if (this.#endsAtOnce) done.resolve({})
  }

  #store(): void {
    if (!this.#isDead) this.#database.staticData = JSON.stringify(this.#staticData)
  }
}

/** The rows of one output of all executions. */
export const rowsAt = (executions: readonly Execution[], output: 0 | 1): Json[] =>
  executions.flatMap(({ outputs }) => (outputs[output] ?? []).map(({ json }) => json))
