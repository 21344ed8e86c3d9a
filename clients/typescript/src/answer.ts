import type { Exchange } from './exchange.ts'
import type { FetchAnswer } from './fetch.ts'

/** An answer whose body is read once, or closed. */
export class Answer {
  readonly headers: FetchAnswer['headers']
  readonly path: string
  readonly #body: FetchAnswer['body']
  readonly #exchange: Exchange

  constructor({ headers, body }: FetchAnswer, exchange: Exchange, path: string) {
    this.headers = headers
    this.path = path
    this.#body = body
    this.#exchange = exchange
  }

  /** Yields the body, piece by piece, as text. Throws an `ApiConnectionError` when the connection ends before the answer. */
  async *pieces(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder()
    try {
      const reader = this.#body?.getReader()
      while (reader !== undefined) {
        const { done, value } = await this.#exchange.within(reader.read())
        if (done) break
        yield decoder.decode(value, { stream: true })
      }
      yield decoder.decode()
    } catch (error) {
      throw this.#exchange.explain(error, this.path)
    } finally {
      this.#exchange.end()
    }
  }

  async text(): Promise<string> {
    let text = ''
    for await (const piece of this.pieces()) text += piece
    return text
  }
}
