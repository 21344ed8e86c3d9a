/**
 * Calls `work` for each item, for at most `maxAtOnce` at a time. After the first error, calls `onFirstError`, which is to end the work on the other items,
 * starts no further item, waits until all work has ended, and rejects with that error.
 */
export async function forEachAtOnce<Item>(
  items: readonly Item[],
  maxAtOnce: number,
  work: (item: Item) => Promise<void>,
  onFirstError: (error: unknown) => void,
): Promise<void> {
  const errors: unknown[] = []
  const remaining = items.values()
  const workOnRemaining = async (): Promise<void> => {
    // All workers share this iterator.
    for (const item of remaining) {
      if (errors.length > 0) return
      await work(item).catch((error: unknown) => {
        errors.push(error)
        if (errors.length === 1) onFirstError(error)
      })
    }
  }
  await Promise.all(Array.from({ length: maxAtOnce }, workOnRemaining))
  if (errors.length > 0) throw errors[0]
}
