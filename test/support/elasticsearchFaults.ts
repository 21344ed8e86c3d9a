import type { Answer, Fault } from './faultyElasticsearch.ts'
import type { Gate } from './gate.ts'

export const jsonAnswer = (status: number, body: unknown): Answer => ({
  status,
  headers: {
    'content-type': 'application/vnd.elasticsearch+json;compatible-with=9',
    'x-elastic-product': 'Elasticsearch',
  },
  body: Buffer.from(JSON.stringify(body)),
})

/** Answers as Elasticsearch refuses a request, which it never sees. */
export const refusesWith = (status: number, type: string): Fault => {
  const error = { root_cause: [{ type, reason: 'as injected' }], type, reason: 'as injected' }
  return answersWith(jsonAnswer(status, { error, status }))
}

/** Answers in place of Elasticsearch. */
export const answersWith =
  (answer: Answer): Fault =>
  ({ reply }) =>
    reply(answer)

/** Half of the request's body reaches Elasticsearch; then both sides are cut. */
export const cutsRequest: Fault = async ({ open, body, response }) => {
  const sent = open(body.length)
  sent.on('error', () => undefined)
  await new Promise((resolve) => sent.write(body.subarray(0, body.length / 2), resolve))
  sent.destroy()
  response.destroy()
}

/** Elasticsearch does the work; the client is cut off in the middle of the answer. */
export const cutsAnswer: Fault = async ({ ask, response }) => {
  const { status, headers, body } = await ask()
  response.writeHead(status, { ...headers, 'content-length': body.length })
  await new Promise((resolve) => response.write(body.subarray(0, body.length / 2), resolve))
  response.destroy()
}

/** Elasticsearch does the work at once; the client hears of it once the gate is open. */
export const holdsAnswer =
  (gate: Gate): Fault =>
  async ({ ask, reply }) => {
    const answer = await ask()
    await gate.pass()
    reply(answer)
  }
