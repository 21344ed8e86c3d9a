import { setTimeout as sleep } from 'node:timers/promises'
import { type AccountKeyManager, KeyRefused } from '../../src/settings/accountKeyManager.ts'
import { NoAnswer, type RunningApi, type System } from './system.ts'
import { SimulatedProcess } from './world/process.ts'
import { Violation } from './world/world.ts'

const maxKeys = 10
const pauseMs = 200

type CreatedKey = {
  readonly team: string
  readonly id: string
  readonly plaintext: string
  gone: 'revoked' | 'deleted' | undefined
  /** Whether its revocation or deletion was requested, with any result. */
  mayBeGone: boolean
  /** Whether its deletion was requested, with any result. */
  mayBeDeleted: boolean
}

/** An owner who creates, revokes and deletes keys, and clients that use the keys. */
export class KeyUsers {
  readonly #system: System
  readonly #process: SimulatedProcess
  readonly #keys: CreatedKey[] = []
  readonly #changing = new Set<Promise<unknown>>()
  /** The settings area, once it has started. */
  #settings: AccountKeyManager | undefined

  /** Starts a settings area. */
  constructor(system: System) {
    this.#system = system
    this.#process = new SimulatedProcess(system.world, 'key users')
    system.startSettings((settings) => {
      this.#settings = settings
    })
  }

  get haveSettings(): boolean {
    return this.#settings !== undefined
  }

  /** Starts the clients that use keys. */
  start(): void {
    this.#process.run(() => {
      this.#use().catch((error: unknown) => this.#system.world.fail(error))
    })
  }

  /** Requests a new key from the settings area. If the request fails, the key may or may not exist. */
  create(team: string, name: string): void {
    this.#change(async (settings) => {
      const { plaintext, key } = await settings.create({ team, name, by: 'owner' })
      this.#keys.push({ team, id: key.id, plaintext, gone: undefined, mayBeGone: false, mayBeDeleted: false })
    })
  }

  end(team: string, which: number, how: 'revoke' | 'delete'): void {
    const own = this.#keys.filter((key) => key.team === team)
    const key = own[which % own.length]
    if (key === undefined) return
    key.mayBeGone = true
    key.mayBeDeleted ||= how === 'delete'
    this.#change(async (settings) => {
      await settings[how]({ team, id: key.id, by: 'owner' })
      key.gone = how === 'revoke' ? (key.gone ?? 'revoked') : 'deleted'
    })
  }

  async changesDone(): Promise<void> {
    await Promise.all(this.#changing)
  }

  /** Throws unless each team uses at most ten slots, and has exactly the keys that were created and not deleted. */
  async expectTruth(): Promise<void> {
    await this.#inSettings((settings) => this.#expectTruth(settings))
  }

  async #expectTruth(settings: AccountKeyManager): Promise<void> {
    for (const team of new Set(this.#keys.map((key) => key.team))) {
      const listed = await settings.list(team)
      if (listed.length > maxKeys) throw new Violation('a team has at most ten keys', `${team} has ${listed.length}`)
      for (const key of this.#keys.filter((used) => used.team === team)) {
        const state = listed.find(({ id }) => id === key.id)?.state ?? 'deleted'
        if (key.gone !== undefined && state !== key.gone && state !== 'deleted')
          throw new Violation('a deleted key stays deleted', `${team} ${key.id} is ${state} after it was ${key.gone}`)
        if (!key.mayBeDeleted && state === 'deleted')
          throw new Violation('a created key stays', `${team} ${key.id} is gone`)
      }
    }
  }

  #inSettings<T>(act: (settings: AccountKeyManager) => T): T | undefined {
    const [running] = this.#system.running('settings')
    const settings = this.#settings
    return settings && running?.process.run(() => act(settings))
  }

  #change(change: (settings: AccountKeyManager) => Promise<void>): void {
    const changing = Promise.resolve(this.#inSettings(change))
      .catch((error: unknown) => {
        this.#system.world.note(`key change: ${error instanceof KeyRefused ? error.reason : String(error)}`)
      })
      .finally(() => this.#changing.delete(changing))
    this.#changing.add(changing)
  }

  async #use(): Promise<void> {
    for (;;) {
      await sleep(pauseMs)
      const key = this.#keys[Math.floor(Math.random() * this.#keys.length)]
      const api = this.#system.running('api')[0] as RunningApi | undefined
      if (key === undefined || api?.listener === undefined) continue
      const goneBefore = key.gone
      const answer = this.#system.request(api, this.#process, '/api/v1/forms?limit=1', {
        authorization: `Bearer ${key.plaintext}`,
      })
      const status = await answer.then(
        ({ status }) => status,
        (error: unknown) => {
          if (error instanceof NoAnswer) return undefined
          throw error
        },
      )
      if (goneBefore !== undefined && status === 200)
        throw new Violation(
          'a revoked key is refused',
          `${key.id} of ${key.team} was ${goneBefore} before it was used, and got 200`,
        )
      if (status === 401 && !key.mayBeGone)
        throw new Violation('a created key works', `${key.id} of ${key.team} got 401, and nobody has ended it`)
      if (status !== undefined && ![200, 304, 401, 429, 503].includes(status))
        throw new Violation('the API answers, or says 429 or 503', `${status} to a key of ${key.team}`)
    }
  }
}
