import { startProgressBar } from '../../src/core/process/progressBar.ts'

const maxSendCharacters = 512 * 1024

/** Appends all of `total` records, as many at a time as are sent well together. */
export async function appendAll<T extends { readonly value: string }>(
  records: Iterable<T>,
  total: number,
  append: (records: readonly T[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const sending = startProgressBar('Sending submissions', total, process.stdout)
  let chunk: T[] = []
  let characters = 0
  let sent = 0
  const send = async (): Promise<void> => {
    signal.throwIfAborted()
    await append(chunk)
    sent += chunk.length
    sending.reach(sent)
    chunk = []
    characters = 0
  }
  try {
    for (const record of records) {
      chunk.push(record)
      characters += record.value.length
      if (characters >= maxSendCharacters) await send()
    }
    await send()
  } finally {
    sending.end()
  }
}
