import { startLocalServer } from './localServer.ts'
import type { Random } from './random.ts'

const rowsOfPage = 10
const passedOn = ['content-type', 'preference-applied', 'replica-watermark', 'retry-after']

/**
 * A proxy before a change feed whose pages are small and whose waits are short. Unless it is reliable, it cuts some answers, and calls some cursors
 * expired.
 */
export async function startUnreliableProxy(apiUrl: () => string, random: Random) {
  const counts = { answers: 0, expired: 0, cut: 0 }
  let isReliable = false
  const server = await startLocalServer(async ({ url = '', headers }, response) => {
    counts.answers++
    const target = new URL(url, apiUrl())
    if (!isReliable && target.searchParams.has('cursor') && random.chance(0.08)) {
      counts.expired++
      response.writeHead(410, { 'Content-Type': 'application/json' })
      return response.end('{"error":{"code":"cursor_expired","message":"the cursor is too old"}}')
    }
    target.searchParams.set('limit', String(rowsOfPage))
    const sentHeaders = { authorization: headers.authorization ?? '', prefer: 'wait=1' }
    const answer = await fetch(target, { headers: sentHeaders })
    const body = Buffer.from(await answer.arrayBuffer())
    const answered = [...answer.headers].filter(([name]) => passedOn.includes(name))
    response.writeHead(answer.status, { ...Object.fromEntries(answered), 'Content-Length': body.length })
    if (isReliable || !random.chance(0.1)) return response.end(body)
    counts.cut++
    return response.write(body.subarray(0, random.below(body.length)), () => response.destroy())
  })
  return {
    ...server,
    /** The number of requests so far, by their outcome. */
    seen: (): Readonly<typeof counts> => counts,
    /** From now on, the proxy passes complete answers on. */
    becomeReliable: (): void => {
      isReliable = true
    },
  }
}
