import { largeBytes } from '../../core/stores/documents.ts'

/** The size that a part is meant to have, and that it may have if all of its rows are as large as they may be. */
const [partBytes, mostPartBytes] = [512 * 1024, 4 * 1024 * 1024]
const firstRows = 100
/** Rows that are not large have `mostPartBytes` together. */
const maxRows = mostPartBytes / largeBytes

/** Neighbouring rows that are read together, and at most how many bytes they have. */
type Part = { readonly rows: number; readonly bytes: number }

/**
 * Decides how many rows are read together: about `partBytes`, as far as is known how large each one is; rows that are not large are expected to be
 * like those of the part before. A row that is larger than a part is a part.
 */
export class PartSize {
  #expected = Math.floor(partBytes / firstRows)

  /** How many rows a part has of which none is large. */
  get rows(): number {
    return Math.min(maxRows, Math.max(1, Math.floor(partBytes / this.#expected)))
  }

  /** The next part of rows that have so many bytes at most; undefined for one that is not large. */
  next(weights: readonly (number | undefined)[]): Part {
    let [rows, bytes, expected] = [0, 0, 0]
    for (const weight of weights) {
      bytes += weight ?? largeBytes
      expected += weight ?? this.#expected
      if (rows > 0 && (expected > partBytes || bytes > mostPartBytes))
        return { rows, bytes: bytes - (weight ?? largeBytes) }
      rows++
    }
    return { rows, bytes }
  }

  /** Notes the rows of a part that was read. */
  noteRows(rows: readonly Buffer[]): void {
    const small = rows.filter(({ length }) => length <= largeBytes)
    const bytes = small.reduce((sum, { length }) => sum + length, 0)
    if (small.length > 0) this.#expected = Math.max(1, bytes / small.length)
  }
}

/** What `read` makes of these, part by part. */
export async function* readParts<Each>(
  all: readonly Each[],
  weights: readonly (number | undefined)[],
  size: PartSize,
  read: (some: readonly Each[], bytes: number) => Promise<readonly Buffer[]>,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  for (let at = 0; at < all.length; ) {
    const { rows, bytes } = size.next(weights.slice(at, at + maxRows))
    const found = await read(all.slice(at, at + rows), bytes)
    size.noteRows(found)
    yield found
    at += rows
  }
}
