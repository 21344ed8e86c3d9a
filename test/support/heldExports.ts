import { type Exchange, type FaultyElasticsearch, type Injected, passes } from './faultyElasticsearch.ts'
import { Gate } from './gate.ts'

/** Recognises requests for later parts of exports (after the first one of a snapshot), and counts the rows of the newest first part. */
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

/** Exports held after their first part until a test lets them continue or fail. */
export class HeldExports {
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

  /** The number of rows of the first part. */
  firstRows(): number {
    return this.#parts.firstRows()
  }

  untilReached(): Promise<void> {
    return this.#gate.untilReached()
  }

  /** Lets exports continue. */
  goOn(): void {
    this.#injected.lift()
    this.#gate.open()
  }

  /** Makes exports fail. */
  fail(): void {
    this.#fails = true
    this.goOn()
  }
}
