import { type Exchange, type FaultyElasticsearch, type Injected, passes } from './faultyElasticsearch.ts'
import { Gate } from './gate.ts'

/** Finds the parts of exports after the first one of each snapshot, and how many rows the newest first one has. */
export function laterParts() {
  const begun = new Set<string>()
  let firstRows = 0
  const when = ({ path, body }: Exchange): boolean => {
    if (!path.startsWith('/_search')) return false
    type Asked = { readonly size: number; readonly pit?: { readonly id: string }; readonly _source?: boolean }
    const { size, pit, _source: source } = JSON.parse(body.toString()) as Asked
    if (size === 0 || source === false || pit === undefined) return false
    if (begun.has(pit.id)) return true
    begun.add(pit.id)
    firstRows = size
    return false
  }
  return { when, firstRows: () => firstRows }
}

/** Exports that Elasticsearch has answered their first part, and nothing more until it is told how to go on. */
class HeldExports {
  readonly #gate = new Gate()
  readonly #parts = laterParts()
  readonly #injected: Injected
  #fails = false

  constructor(elasticsearch: FaultyElasticsearch) {
    const fault = async (exchange: Exchange): Promise<void> => {
      await this.#gate.pass()
      if (this.#fails) exchange.response.destroy()
      else await passes(exchange)
    }
    this.#injected = elasticsearch.inject('/_search', fault, this.#parts)
  }

  /** How many rows the first part has. */
  firstRows(): number {
    return this.#parts.firstRows()
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
