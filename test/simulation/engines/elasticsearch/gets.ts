import type { Index } from './catalog.ts'
import { expectOnly, notSimulated, Refusal } from './refusal.ts'
import type { StoredDocument } from './shard.ts'

type Json = Readonly<Record<string, unknown>>

/** Reads a document by its id and routing; undefined if it is not there. */
export type ReadDocument = (index: Index, id: string, routing: string) => StoredDocument | undefined

type GetOptions = { readonly index: Index | Refusal; readonly name: string; readonly routing: string | undefined }

/** Answers an `_mget`: the JSON text of all documents, whose whole sources are as they were written. */
export function multiGet(body: Json, { index, name, routing }: GetOptions, read: ReadDocument): string {
  const { docs, ids, ...others } = body
  expectOnly([], others, 'an _mget')
  const wanted = (docs ?? (ids as readonly string[]).map((_id) => ({ _id }))) as readonly Json[]
  const found = wanted.map(({ _id, routing: own = routing, _source, ...more }) => {
    expectOnly([], more, 'a document of an _mget')
    if (typeof _id !== 'string' || typeof own !== 'string') throw notSimulated('a get without an id or routing')
    try {
      if (index instanceof Refusal) throw index
      return renderFound(index.name, _id, read(index, _id, own), _source)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return JSON.stringify({ _index: name, _id, error: error.error })
    }
  })
  return `{"docs":[${found.join()}]}`
}

function renderFound(_index: string, _id: string, document: StoredDocument | undefined, wanted: unknown): string {
  if (document === undefined) return JSON.stringify({ _index, _id, found: false })
  const { version: _version, seqNo: _seq_no, routing: _routing } = document
  const head = { _index, _id, _version, _seq_no, _primary_term: 1, _routing, found: true }
  const source = renderSource(document, wanted)
  return `${JSON.stringify(head).slice(0, -1)}${source === undefined ? '' : `,"_source":${source}`}}`
}

function renderSource({ source, fields }: StoredDocument, wanted: unknown): string | undefined {
  if (wanted === undefined) return source
  if (wanted === false) return undefined
  const parts: Record<string, unknown> = {}
  for (const path of wanted as readonly string[]) {
    const [name = '', member, ...deeper] = path.split('.')
    const value = fields[path]
    if (deeper.length > 0) throw notSimulated(`a source's ${path}`)
    if (value !== undefined) parts[name] = member === undefined ? value : { ...(parts[name] as Json), [member]: value }
  }
  return JSON.stringify(parts)
}

/** The source of a document as it was written. */
export function sourceOf({ index, name, routing }: GetOptions, id: string, read: ReadDocument): string {
  if (index instanceof Refusal) throw index
  if (routing === undefined) throw notSimulated('a get without routing')
  const document = read(index, id, routing)
  if (document !== undefined) return document.source
  throw new Refusal(404, { type: 'resource_not_found_exception', reason: `Document not found [${name}]/[${id}]` })
}
