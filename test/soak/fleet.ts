import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { type Program, startProgram } from '../support/programs.ts'

const indexers = 2
const apis = 2
const startPatienceMs = 60_000
/** Nothing ends a start but its deadline. */
const { signal: never } = new AbortController()
/** Twice what a stop may take, for machines that are busy with other things. */
const stopPatienceMs = 20_000

type Member = { readonly name: string; readonly program: Program; isLeaving: boolean }

/** The project's processes: two indexers, two APIs, and whoever comes beside them for a while. */
export class Fleet {
  readonly #environment: Readonly<Record<string, string>>
  readonly #onUnexpectedEnd: (what: string) => void
  readonly #members: Member[] = []
  readonly #slots: Member[] = []
  #started = 0

  constructor(environment: Readonly<Record<string, string>>, onUnexpectedEnd: (what: string) => void) {
    this.#environment = { ...environment, RATE_LIMIT_PER_MINUTE: '100000000' }
    this.#onUnexpectedEnd = onUnexpectedEnd
  }

  /** Resolves once all are ready. */
  async start(): Promise<void> {
    for (let slot = 0; slot < indexers; slot++) this.#slots[slot] = await this.#add('indexer')
    for (let api = 0; api < apis; api++) await this.#add('api')
    let readiness: readonly string[] = []
    const isReady = async (): Promise<boolean> => {
      readiness = [...(await this.readiness()).values()]
      return readiness.every((each) => each.startsWith('200'))
    }
    if (!(await waitUntil(isReady, { deadlineMs: startPatienceMs, signal: never })))
      throw new Error(`not ready: ${readiness.join('; ')}`)
  }

  get apis(): Program[] {
    return this.#present('api').map(({ program }) => program)
  }

  get indexers(): Program[] {
    return this.#present('indexer').map(({ program }) => program)
  }

  indexerAt(slot: number): Program {
    const member = this.#slots[slot]
    if (member === undefined) throw new Error(`there is no indexer ${slot}`)
    return member.program
  }

  /** Ends the indexer of a slot and starts another; throws when it was asked to stop and did not do so in order. */
  async replaceIndexer(slot: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const old = this.#slots[slot]
    if (old === undefined) throw new Error(`there is no indexer ${slot}`)
    await end(old, signal)
    this.#slots[slot] = await this.#add('indexer')
  }

  /** One more indexer; resolves with what ends it. */
  async addGuest(): Promise<() => Promise<void>> {
    const guest = await this.#add('indexer')
    return () => end(guest, 'SIGTERM')
  }

  /** A rebuild, killed after a time or left to itself; with its exit code and what it said last. */
  async rebuild(killAfterMs: number | undefined, signal: AbortSignal): Promise<{ code: number | null; said: string }> {
    const program = await startProgram('rebuild', this.#environment)
    this.#members.push({ name: `rebuild-${++this.#started}`, program, isLeaving: true })
    const timer = new AbortController()
    const killing =
      killAfterMs !== undefined &&
      sleep(killAfterMs, undefined, { signal: AbortSignal.any([signal, timer.signal]) })
        .then(() => program.end('SIGKILL'))
        .catch(() => undefined)
    const code = await program.ended()
    timer.abort()
    await killing
    return { code, said: program.log().trim().split('\n').at(-1) ?? '' }
  }

  /** What each process that is present says of itself: name → `/readyz`. */
  async readiness(): Promise<Map<string, string>> {
    const says = this.#present('').map(async ({ name, program }) => {
      const options = { signal: AbortSignal.timeout(10_000) }
      const answer = await fetch(`${program.adminUrl}/readyz`, options).then(
        async (response) => `${response.status} ${(await response.text()).trim()}`,
        (error: Error) => `does not answer: ${error.message}`,
      )
      return [name, answer] as const
    })
    return new Map(await Promise.all(says))
  }

  /** Resident memory of the indexers in MiB. */
  async memory(): Promise<number[]> {
    const of = async ({ pid }: Program): Promise<number> => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024)
    }
    return await Promise.all(this.indexers.map(of))
  }

  async writeLogs(folder: string): Promise<void> {
    for (const { name, program } of this.#members) await writeFile(join(folder, `${name}.log`), program.log())
  }

  /** Whatever ends from now on is meant to. */
  dismiss(): void {
    for (const member of this.#members) member.isLeaving = true
  }

  #present(kind: string): Member[] {
    return this.#members.filter(({ name, isLeaving }) => !isLeaving && name.startsWith(kind))
  }

  async #add(kind: 'indexer' | 'api'): Promise<Member> {
    const program = await startProgram(kind, this.#environment)
    const member = { name: `${kind}-${++this.#started}`, program, isLeaving: false }
    this.#members.push(member)
    const ending = program.ended().then((code) => {
      if (!member.isLeaving) this.#onUnexpectedEnd(`${member.name} ended by itself with ${code}: ${tail(program)}`)
    })
    ending.catch(() => undefined)
    await untilAlive(member)
    return member
  }
}

/** Before that it does not hear a signal. */
async function untilAlive({ name, program }: Member): Promise<void> {
  const isAlive = async (): Promise<boolean> => await fetch(`${program.adminUrl}/livez`).then(isOk, () => false)
  if (await waitUntil(isAlive, { deadlineMs: startPatienceMs, signal: never })) return
  throw new Error(`${name} does not start: ${tail(program)}`)
}

const isOk = ({ ok }: Response): boolean => ok

async function end(member: Member, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  member.isLeaving = true
  const startedAtMs = Date.now()
  const code = await member.program.end(signal)
  if (signal === 'SIGKILL') return
  const tookMs = Date.now() - startedAtMs
  if (code !== 0 || tookMs > stopPatienceMs)
    throw new Error(
      `${member.name} was asked to stop and ended with ${code} after ${tookMs} ms: ${tail(member.program)}`,
    )
}

const tail = (program: Program): string => program.log().slice(-1_500)
