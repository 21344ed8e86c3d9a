import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bulkBounds, encodeBulk, type Indices } from '../../../indexer/bulk/bulkApi.ts'
import type { DocumentWrite } from '../../../src/core/stores/documents.ts'
import { documentKinds, physicalName, readDefinition } from '../../../src/core/stores/indices.ts'

/** The body of one bulk request, on disk, and how many records' documents it stores. */
export type Body = { readonly path: string; readonly records: number }

/** Before the names of the indices that ready-made bodies are for. */
export const ceilingPrefix = 'ceiling'
export const ceilingGeneration = 1

export async function ceilingIndices(): Promise<Indices> {
  const names = documentKinds.map(
    async (kind) =>
      [kind, physicalName(ceilingPrefix, kind, (await readDefinition(kind)).version, ceilingGeneration)] as const,
  )
  return Object.fromEntries(await Promise.all(names)) as Indices
}

/** Writes documents to a folder as the bodies of bulk requests, each as large as an indexer's largest. */
export class BodyWriter {
  readonly #folder: string
  readonly #indices: Indices
  readonly #bodies: Body[] = []
  #lines: Buffer[] = []
  #bytes = 0

  constructor(folder: string, indices: Indices) {
    this.#folder = folder
    this.#indices = indices
  }

  /** Takes the documents of one record. */
  async add(documents: readonly DocumentWrite[]): Promise<void> {
    const lines = encodeBulk(this.#indices, documents)
    if (this.#bytes + lines.length > bulkBounds.maxBulkBytes) await this.#write()
    this.#lines.push(lines)
    this.#bytes += lines.length
  }

  /** Writes what is left, and answers all bodies in the order of the records. */
  async end(): Promise<readonly Body[]> {
    await this.#write()
    return this.#bodies
  }

  async #write(): Promise<void> {
    if (this.#lines.length === 0) return
    const path = join(this.#folder, `${String(this.#bodies.length).padStart(5, '0')}.ndjson`)
    await mkdir(this.#folder, { recursive: true })
    await writeFile(path, Buffer.concat(this.#lines))
    this.#bodies.push({ path, records: this.#lines.length })
    this.#lines = []
    this.#bytes = 0
  }
}

/** The first bodies that hold at least so many records. */
export function bodiesOf(bodies: readonly Body[], records: number): readonly Body[] {
  let held = 0
  const count = bodies.findIndex((body) => {
    held += body.records
    return held >= records
  })
  if (count === -1) throw new Error(`there are no bodies of ${records} records`)
  return bodies.slice(0, count + 1)
}

export const recordsIn = (bodies: readonly Body[]): number => bodies.reduce((sum, { records }) => sum + records, 0)
