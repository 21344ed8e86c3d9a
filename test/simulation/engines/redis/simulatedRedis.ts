import { createHash } from 'node:crypto'
import { type OnCommand, type RedisConnection, runIn } from '../../../../src/core/redis/redis.ts'
import type { Host, Network } from '../../network.ts'
import { connectSimulated } from './client.ts'
import { commands, growing, type Reply, writing } from './commands.ts'
import { Keyspace, ReplyError } from './keyspace.ts'
import { runLua } from './lua.ts'
import { Session } from './session.ts'

const hexDigits = 16
const idLength = 40
const noId = '0'.repeat(idLength)

/** An in-memory Redis on the clock of its host, with the commands that the product uses, and failures as of a real one. */
export class SimulatedRedis {
  readonly #host: Host
  readonly #keys: Keyspace
  /** SHA-1 → script. */
  readonly #scripts = new Map<string, string>()
  readonly #sessions = new Set<Session>()
  /** The run ids of the master and of its replica. */
  #runIds: [master: string, replica: string]
  #replicationIds: [own: string, earlier: string]
  /** Out of memory: serves reads, refuses commands that need memory. */
  isFull = false

  constructor(host: Host) {
    this.#host = host
    this.#keys = new Keyspace(() => host.nowMs())
    this.#runIds = [this.#newId(), this.#newId()]
    this.#replicationIds = [this.#newId(), noId]
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
    this.#runIds[0] = this.#newId()
    this.#replicationIds = [this.#newId(), noId]
  }

  /** A replica that lags by 500 ms takes over; the master becomes its replica, without a restart. */
  failOver(): void {
    const [master, replica] = this.#runIds
    const [earlier] = this.#replicationIds
    this.restart({ losesLastMs: 500 })
    this.#runIds = [replica, master]
    this.#replicationIds[1] = earlier
  }

  flush(): void {
    this.#keys.flush()
  }

  get runId(): string | undefined {
    return runIn(this.#info())
  }

  /** The fields of a hash, for inspection by tests. */
  hash(name: string): Readonly<Record<string, string>> {
    const flat = this.#command('hgetall', [name]) as readonly string[]
    return Object.fromEntries(flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1] ?? '']] : [])))
  }

  /** A string, for inspection by tests. */
  text(name: string): string | undefined {
    return (this.#command('get', [name]) as string | null) ?? undefined
  }

  /** The names of keys with a prefix, for inspection by tests. */
  namesWith(prefix: string): readonly string[] {
    return this.#command('keys', [`${prefix}*`]) as readonly string[]
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
        return this.#info()
      default:
        this.#refuseWhenFull(name)
        return this.#command(name, args)
    }
  }

  #info(): string {
    const [own, earlier] = this.#replicationIds
    const server = ['# Server', `run_id:${this.#runIds[0]}`, '# Memory', 'used_memory:1000000', 'maxmemory:0']
    return [...server, '# Replication', `master_replid:${own}`, `master_replid2:${earlier}`, ''].join('\r\n')
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

  #newId(): string {
    const digit = (): string => Math.floor(this.#host.random() * hexDigits).toString(hexDigits)
    return Array.from({ length: idLength }, digit).join('')
  }
}
