/** A larger page is not held in memory. No page without large rows has so many bytes. */
export const maxPageBytes = 2 * 1024 * 1024

/** The rows of a page are too large to be held in memory together: it must be sent part by part. */
export class LargePage extends Error {
  constructor() {
    super('the rows of the page are too large to be held in memory together')
    this.name = 'LargePage'
  }
}
