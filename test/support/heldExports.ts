import { type Exchange, type FaultyElasticsearch, type Injected, passes } from './faultyElasticsearch.ts'
import { Gate } from './gate.ts'

/** How many rows the first part of an export has. */
export const firstRows = 100

/** The parts of an export after its first one. */
export const laterPart = ({ path, body }: Exchange): boolean => {
  if (!path.startsWith('/_search')) return false
  const { size, _source: source } = JSON.parse(body.toString()) as { size: number; _source?: boolean }
  return size !== 0 && size !== firstRows && source !== false
}

/** Exports that Elasticsearch has answered their first part, and nothing more until it is told how to go on. */
class HeldExports {
  readonly #gate = new Gate()
  readonly #injected: Injected
  #fails = false

  constructor(elasticsearch: FaultyElasticsearch) {
    const fault = async (exchange: Exchange): Promise<void> => {
      await this.#gate.pass()
      if (this.#fails) exchange.response.destroy()
      else await passes(exchange)
    }
    this.#injected = elasticsearch.inject('/_search', fault, { when: laterPart })
  }

  untilReached(): Promise<void> {
    return this.#gate.untilReached()
  }

  /** Answers everything that it is asked. */
  goOn(): void {
    this.#injected.lift()
    this.#gate.open()
  }

  /** Answers nothing that it is asked for these exports. */
  fail(): void {
    this.#fails = true
    this.goOn()
  }
}

/** Called in a file or block, gives a function that holds exports until its test goes on with them, or ends. */
export function holdingExports(elasticsearch: FaultyElasticsearch): () => HeldExports {
  const holding: HeldExports[] = []
  afterEach(() => {
    for (const held of holding.splice(0)) held.goOn()
  })
  return () => {
    const held = new HeldExports(elasticsearch)
    holding.push(held)
    return held
  }
}
