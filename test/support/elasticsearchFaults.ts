import type { Answer, Fault } from './faultyElasticsearch.ts'
import type { Gate } from './gate.ts'

const type = 'application/vnd.elasticsearch+json;compatible-with=9'
const headers = { 'content-type': type, 'x-elastic-product': 'Elasticsearch' }
export const jsonAnswer = (status: number, body: unknown): Answer => {
  return { status, headers, body: Buffer.from(JSON.stringify(body)) }
}

/** Refuses a request in the form of Elasticsearch, which never gets it. */
export const refusesWith = (status: number, type: string): Fault => {
  const error = { root_cause: [{ type, reason: 'as injected' }], type, reason: 'as injected' }
  return answersWith(jsonAnswer(status, { error, status }))
}

/** Answers in place of Elasticsearch. */
export const answersWith =
  (answer: Answer): Fault =>
  ({ reply }) =>
    reply(answer)

/** Cuts both connections after half of the request's body has reached Elasticsearch. */
export const cutsRequest: Fault = async ({ open, body, response }) => {
  const outgoing = open(body.length)
  outgoing.on('error', () => undefined)
  await new Promise((resolve) => outgoing.write(body.subarray(0, body.length / 2), resolve))
  outgoing.destroy()
  response.destroy()
}

/** Lets Elasticsearch execute the request, and cuts the client off in the middle of the answer. */
export const cutsAnswer: Fault = async ({ ask, response }) => {
  const { status, headers, body } = await ask()
  response.writeHead(status, { ...headers, 'content-length': body.length })
  await new Promise((resolve) => response.write(body.subarray(0, body.length / 2), resolve))
  response.destroy()
}

/** Lets Elasticsearch execute the request at once, and holds the answer until the gate opens. */
export const holdsAnswer =
  (gate: Gate): Fault =>
  async ({ ask, reply }) => {
    const answer = await ask()
    await gate.pass()
    reply(answer)
  }
