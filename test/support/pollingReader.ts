import { setTimeout as sleep } from 'node:timers/promises'
import type { Pipeline } from './pipeline.ts'
import type { Program } from './programs.ts'
import type { Json } from './randomHistory.ts'
import type { SteadyWriter } from './steadyWriter.ts'

/** Asks for a team's submissions again and again, and remembers everything that was wrong. */
export type PollingReader = {
  answers(): number
  /** Ends it and resolves with what was wrong, each once. */
  stop(): Promise<string[]>
}

const restMs = 20

/**
 * Every answer must be 200, hold what was appended before its own watermark, and never fall back behind an answer before it:
 * neither the watermark nor the revision of any submission.
 */
export function startPollingReader(pipeline: Pipeline, api: Pick<Program, 'url'>, writer: SteadyWriter): PollingReader {
  const wrong = new Set<string>()
  let [answers, isOver, watermarkMs] = [0, false, 0]
  let seen = new Map<string, number>()
  const ask = async (): Promise<void> => {
    const { status, headers, body } = await pipeline.get(api, writer.team, '/api/v1/records?limit=100')
    const answer: Json = body
    if (status !== 200) throw new Error(`status ${status} ${JSON.stringify(answer)}`)
    const nowMs = Date.parse(headers.get('replica-watermark') ?? '')
    if (!(nowMs >= watermarkMs)) throw new Error(`watermark ${headers.get('replica-watermark')} after ${watermarkMs}`)
    watermarkMs = nowMs
    const items = new Map<string, number>(answer.items.map((item: Json) => [item.id, item.serialNumber]))
    if (items.size !== answer.totalDocs) throw new Error(`${items.size} items of ${answer.totalDocs}`)
    writer.check({ watermarkMs, items })
    for (const [id, revision] of items)
      if (revision < (seen.get(id) ?? 0)) throw new Error(`${id} falls back from ${seen.get(id)} to ${revision}`)
    seen = items
    answers++
  }
  const running = (async () => {
    while (!isOver) {
      await ask().catch((error: Error) => wrong.add(error.message))
      await sleep(restMs)
    }
  })()
  return {
    answers: () => answers,
    stop: async () => {
      isOver = true
      await running
      return [...wrong]
    },
  }
}
