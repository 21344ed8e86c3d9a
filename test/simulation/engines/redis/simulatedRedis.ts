import { createHash } from 'node:crypto'
import type { OnCommand, RedisConnection } from '../../../../src/core/stores/redis.ts'
import type { Host, Network } from '../../network.ts'
import { connectSimulated } from './client.ts'
import { commands, growing, type Reply, writing } from './commands.ts'
import { Keyspace, ReplyError } from './keyspace.ts'
import { runLua } from './lua.ts'
import { Session } from './session.ts'

const hexDigits = 16
const runIdLength = 40

/** An in-memory Redis on the clock of its host, with the commands that the product uses, and failures as of a real one. */
export class SimulatedRedis {
  readonly #host: Host
  readonly #keys: Keyspace
  /** SHA-1 → script. */
  readonly #scripts = new Map<string, string>()
  readonly #sessions = new Set<Session>()
  #runId: string
  /** Out of memory: serves reads, refuses commands that need memory. */
  isFull = false

  constructor(host: Host) {
    this.#host = host
    this.#keys = new Keyspace(() => host.nowMs())
    this.#runId = this.#newRunId()
  }

  /** Connects a process. Calls `onCommand` after every command. */
  connect(network: Network, prefix: string, onCommand?: OnCommand): RedisConnection {
    return connectSimulated(() => this.#open(), network, prefix, onCommand)
  }

  /** Restarts, and loses the writes of the last milliseconds of its clock (a minute at most). */
  restart({ losesLastMs }: { readonly losesLastMs: number }): void {
    for (const session of this.#sessions) session.close()
    this.#sessions.clear()
    this.#keys.lose(losesLastMs)
    this.#scripts.clear()
    this.#runId = this.#newRunId()
  }

  flush(): void {
    this.#keys.flush()
  }

  get runId(): string {
    return this.#runId
  }

  /** The fields of a hash, for inspection by tests. */
  hash(name: string): Readonly<Record<string, string>> {
    const flat = this.#command('hgetall', [name]) as readonly string[]
    return Object.fromEntries(flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1] ?? '']] : [])))
  }

  #open(): Session {
    const session = new Session(this.#host, (name, args) => this.#execute(name, args))
    this.#sessions.add(session)
    return session
  }

  #execute(name: string, args: readonly string[]): Reply {
    switch (name) {
      case 'eval':
        return this.#evaluate(this.#keep(args[0] ?? ''), args.slice(1))
      case 'evalsha': {
        const script = this.#scripts.get(args[0] ?? '')
        if (script === undefined) throw new ReplyError('NOSCRIPT No matching script. Please use EVAL.')
        return this.#evaluate(script, args.slice(1))
      }
      case 'info':
        return ['# Server', `run_id:${this.#runId}`, '# Memory', 'used_memory:1000000', 'maxmemory:0', ''].join('\r\n')
      default:
        this.#refuseWhenFull(name)
        return this.#command(name, args)
    }
  }

  #refuseWhenFull(name: string): void {
    if (this.isFull && growing.has(name))
      throw new ReplyError("OOM command not allowed when used memory > 'maxmemory'.")
  }

  #command(name: string, args: readonly string[]): Reply {
    if (!Object.hasOwn(commands, name)) throw new ReplyError(`ERR the simulation knows no command '${name}'`)
    return commands[name as keyof typeof commands](this.#keys, args)
  }

  #keep(script: string): string {
    this.#scripts.set(createHash('sha1').update(script).digest('hex'), script)
    return script
  }

  #evaluate(script: string, [count, ...values]: readonly string[]): Reply {
    const names = Number(count)
    let hasWritten = false
    return runLua(script, values.slice(0, names), values.slice(names), (name, args) => {
      // A script that has already written is not refused.
      if (!hasWritten) this.#refuseWhenFull(name)
      hasWritten ||= writing.has(name)
      return this.#command(name, args)
    })
  }

  #newRunId(): string {
    const digit = (): string => Math.floor(this.#host.random() * hexDigits).toString(hexDigits)
    return Array.from({ length: runIdLength }, digit).join('')
  }
}
