/** The same parts, each one asked for while the one before is consumed. One part more is held in memory. */
export async function* readAhead<Part>(
  parts: AsyncGenerator<Part, void, undefined>,
): AsyncGenerator<Part, void, undefined> {
  const request = (): Promise<IteratorResult<Part, void>> => {
    const part = parts.next()
    // It may fail long before somebody waits for it.
    part.catch(() => undefined)
    return part
  }
  try {
    for (let next = request(); ; ) {
      const part = await next
      if (part.done) return
      next = request()
      yield part.value
    }
  } finally {
    await parts.return()
  }
}
