import type { Host } from '../../network.ts'
import { type Reply, Status } from './commands.ts'
import { ReplyError } from './keyspace.ts'

/** Commands sent together; `replies` is set once all were executed. */
export type Batch = {
  readonly number: number
  readonly commands: readonly { readonly name: string; readonly args: readonly string[] }[]
  replies: (Reply | ReplyError)[] | undefined
}

/** The server has closed the connection or restarted. */
class SessionClosed extends Error {
  override readonly name = 'SessionClosed'
}

/** The server side of a connection. */
export class Session {
  readonly #host: Host
  readonly #execute: (name: string, args: readonly string[]) => Reply
  readonly #closed = Promise.withResolvers<void>()
  #isOpen = true
  #done = Promise.resolve()

  constructor(host: Host, execute: (name: string, args: readonly string[]) => Reply) {
    this.#host = host
    this.#execute = execute
  }

  /** Resolves once the server has closed the connection. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  close(): void {
    this.#isOpen = false
    this.#closed.resolve()
  }

  /** Executes the batches sent so far, in order and each once; other clients may be served between two commands. Rejects with `SessionClosed`. */
  async deliver(batches: readonly Batch[]): Promise<void> {
    const done = this.#done.then(async () => {
      for (const batch of batches) batch.replies ??= await this.#carryOut(batch)
    })
    this.#done = done.catch(() => undefined)
    await done
  }

  async #carryOut(batch: Batch): Promise<(Reply | ReplyError)[]> {
    const replies: (Reply | ReplyError)[] = []
    for (const { name, args } of batch.commands) {
      if (replies.length > 0) await this.#serveOthers(name)
      if (!this.#isOpen) throw new SessionClosed('the server has closed the connection')
      replies.push(this.#replyTo(name, args))
    }
    return replies
  }

  /** Yields to other clients for up to a millisecond: a server that works on a batch does not idle. */
  #serveOthers(next: string): Promise<void> {
    return new Promise((resolve) => {
      this.#host.after(this.#host.random(), `before ${next} of a batch`, resolve)
    })
  }

  #replyTo(name: string, args: readonly string[]): Reply | ReplyError {
    try {
      const reply = this.#execute(name, args)
      return reply instanceof Status ? reply.text : reply
    } catch (error) {
      if (error instanceof ReplyError) return error
      throw error
    }
  }
}
