import type { Answer } from './answer.ts'
import { parsed } from './connection.ts'
import { InvalidAnswerError } from './errors.ts'

/**
 * All matching items, of one moment. Read it by `for await`; each loop sends a request. The loop throws if the export breaks off: the items until then
 * are not the whole list.
 */
export class Export<Item> implements AsyncIterable<Item> {
  readonly #open: () => Promise<Answer>
  #read: { readonly cursor: string | undefined; readonly watermark: string | undefined } | undefined

  constructor(open: () => Promise<Answer>) {
    this.#open = open
  }

  /**
   * The cursor with which `follow` continues after this export, with the same `view` and `fields`. Undefined if the API could not return one: then follow
   * from the beginning. Throws before the loop has ended.
   */
  get cursor(): string | undefined {
    return this.#whole().cursor
  }

  /** Everything that changed before this time was visible; undefined if the API cannot promise it. Throws before the loop has ended. */
  get watermark(): string | undefined {
    return this.#whole().watermark
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    this.#read = undefined
    const answer = await this.#open()
    for await (const line of lines(answer)) {
      const item = parsed(line)
      if (item === undefined) throw new InvalidAnswerError(`a line of the export of ${answer.path} is no JSON object`)
      yield item as Item
    }
    this.#read = {
      cursor: answer.headers.get('changes-cursor') ?? undefined,
      watermark: answer.headers.get('replica-watermark') ?? undefined,
    }
  }

  #whole() {
    if (this.#read === undefined) throw new Error('the export was not read to its end')
    return this.#read
  }
}

async function* lines(answer: Answer): AsyncGenerator<string, void, undefined> {
  let begun = ''
  for await (const piece of answer.pieces()) {
    const [first = '', ...others] = piece.split('\n')
    begun += first
    for (const next of others) {
      yield begun
      begun = next
    }
  }
  // Each row ends with a line break. A proxy that loses the API may end its own answer in order.
  if (begun !== '') throw new InvalidAnswerError(`the export of ${answer.path} ends within a line`)
}
