import type { Index } from './catalog.ts'
import { expectOnly, notSimulated, Refusal } from './refusal.ts'
import type { StoredDocument } from './shard.ts'

type Json = Readonly<Record<string, unknown>>

/** Reads a document by id and routing; undefined if missing. */
export type ReadDocument = (index: Index, id: string, routing: string) => StoredDocument | undefined

/** Answers an `_mget`: JSON text with sources byte for byte. */
export function multiGet(body: Json, name: string, index: Index | Refusal, read: ReadDocument): string {
  const { docs, ...others } = body
  expectOnly([], others, 'an _mget')
  const documents = (docs as readonly Json[]).map(({ _id, routing, _source, ...more }) => {
    expectOnly([], more, 'a document of an _mget')
    if (typeof _id !== 'string' || typeof routing !== 'string') throw notSimulated('a get without an id or routing')
    try {
      if (index instanceof Refusal) throw index
      return renderFound(index.name, _id, read(index, _id, routing), _source)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return JSON.stringify({ _index: name, _id, error: error.error })
    }
  })
  return `{"docs":[${documents.join()}]}`
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
