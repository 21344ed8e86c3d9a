import type { Source } from '../../docs/client/followChanges.ts'
import type { Json } from '../support/randomHistory.ts'
import { followByWatermark } from './followByWatermark.ts'

const oftenMs = 100

type Options = {
  readonly pollMs?: number
  readonly signal?: AbortSignal
  /** Called at once with anything that no client may see. */
  onProblem?(problem: string, what: string): void
}

/** A client that follows one list by windows of the time of change, from watermark to watermark, and sees only the API's answers. */
export class WatermarkFollower {
  readonly items = new Map<string, Json>()
  watermarkMs = 0
  /** The number of answers read to their end. */
  answers = 0
  /** Everything seen that no client may see. */
  readonly problems: string[] = []
  readonly ended: Promise<void>
  readonly #stop = new AbortController()

  constructor(source: Source, { pollMs = oftenMs, signal, onProblem }: Options = {}) {
    const deleted = new Set<string>()
    const problem = (kind: string, what: string): void => {
      this.problems.push(`${kind}: ${what}`)
      onProblem?.(kind, what)
    }
    this.ended = followByWatermark(source, undefined, {
      onItem: (item) => {
        if (deleted.has(item.id)) problem('a follower sees no item after its deletion', item.id)
        this.items.set(item.id, item)
      },
      onDeleted: (id) => {
        deleted.add(id)
        this.items.delete(id)
      },
      keep: (watermark) => {
        const known = new Date(this.watermarkMs).toISOString()
        if (Date.parse(watermark) < this.watermarkMs)
          problem('the watermark never goes back', `${watermark} after ${known}`)
        this.watermarkMs = Date.parse(watermark)
        this.answers++
      },
      pollMs,
      signal: AbortSignal.any([this.#stop.signal, ...(signal === undefined ? [] : [signal])]),
    })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.ended
  }
}
