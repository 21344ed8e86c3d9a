const firstRows = 100
/** Rows that are not large have 4 MiB together, whatever those before had. */
export const maxRows = 256
/** The target size of a part. */
const partBytes = 512 * 1024

/** How many rows the next part of an export has: as many as the average of the last part's rows makes `partBytes`. */
export class PartSize {
  #rows = firstRows

  get rows(): number {
    return this.#rows
  }

  /** Notes the rows of a part that was read. */
  noteRows(rows: readonly Buffer[]): void {
    const bytes = rows.reduce((sum, row) => sum + row.length, 0)
    this.#rows = Math.min(maxRows, Math.max(1, Math.floor((partBytes * rows.length) / Math.max(1, bytes))))
  }
}
