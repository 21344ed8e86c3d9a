import { jsonAnswer } from './elasticsearchFaults.ts'
import type { Answer, Exchange, Fault } from './faultyElasticsearch.ts'

/** One document of a bulk request: its parsed action line, and both lines. */
export type BulkDocument = Readonly<Record<'index' | 'id' | 'lines', string>> & { readonly version: number }

type Item = { readonly index: { readonly _id: string; readonly status: number; readonly error?: unknown } }

const errorTypes: Readonly<Record<number, string>> = {
  ...{ 400: 'document_parsing_exception', 404: 'index_not_found_exception', 500: 'exception' },
  ...{ 429: 'es_rejected_execution_exception', 503: 'unavailable_shards_exception' },
}

/**
 * Refuses the documents for which `refusalOf` returns a status; Elasticsearch gets the others, and one answer has all
 * items. Calls `heard` with every status of the answer.
 */
type RefusalOf = (document: BulkDocument) => number | undefined
export const refusesDocuments =
  (refusalOf: RefusalOf, onStatus: (status: number) => void = () => undefined): Fault =>
  async (exchange) => {
    const documents = documentsOf(exchange).map((document) => ({ ...document, refusal: refusalOf(document) }))
    const accepted = documents.filter(({ refusal }) => refusal === undefined)
    const trueItems = await write(exchange, accepted)
    const items = documents.map(({ id, lines, refusal }) => {
      const item = refusal === undefined ? trueItems.shift() : refused({ id, lines }, refusal)
      if (item === undefined) throw new Error('Elasticsearch answered fewer items than it was sent')
      return item
    })
    for (const { index } of items) onStatus(index.status)
    exchange.reply(jsonAnswer(200, { items }))
  }

/** Elasticsearch gets, and answers for, only the first half of the documents. */
export const doesHalf: Fault = async (exchange) => {
  const documents = documentsOf(exchange)
  const items = await write(exchange, documents.slice(0, documents.length / 2))
  exchange.reply(jsonAnswer(200, { items }))
}

function documentsOf({ body }: Exchange): BulkDocument[] {
  const lines = body.toString().split('\n')
  return lines.flatMap((action, at) => {
    if (at % 2 === 1 || action === '') return []
    const { _index: index, _id: id, version } = JSON.parse(action).index
    return [{ index, id, version, lines: `${action}\n${lines[at + 1]}\n` }]
  })
}

async function write(exchange: Exchange, documents: readonly BulkDocument[]): Promise<Item[]> {
  if (documents.length === 0) return []
  return itemsOf(await exchange.ask(Buffer.from(documents.map(({ lines }) => lines).join(''))))
}

const itemsOf = (answer: Answer): Item[] => (JSON.parse(answer.body.toString()) as { items: Item[] }).items

/** A refused item whose reason quotes the document, as Elasticsearch does. */
const refused = ({ id, lines }: Pick<BulkDocument, 'id' | 'lines'>, status: number): Item => ({
  index: { _id: id, status, error: { type: errorTypes[status], reason: `as injected: ${lines}` } },
})
