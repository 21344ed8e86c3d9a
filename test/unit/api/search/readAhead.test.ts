import { readAhead } from '../../../../src/api/search/exports.ts'

/** So many parts, and what was asked of them. */
function partsOf(count: number, failsAt = Number.POSITIVE_INFINITY) {
  const asked = { last: 0, isEnded: false }
  async function* parts(): AsyncGenerator<number, void, undefined> {
    try {
      for (let part = 1; part <= count; part++) {
        asked.last = part
        if (part === failsAt) throw new Error(`part ${part}`)
        yield part
      }
    } finally {
      asked.isEnded = true
    }
  }
  return { asked, parts: parts() }
}

test.each([0, 1, 5])('all of %i parts come, in their order', async (count) => {
  const received: number[] = []
  for await (const part of readAhead(partsOf(count).parts)) received.push(part)
  expect(received).toEqual(Array.from({ length: count }, (_, at) => at + 1))
})

test('one part is asked for while the one before is consumed, and no more', async () => {
  const { asked, parts } = partsOf(5)
  for await (const part of readAhead(parts)) {
    await new Promise(setImmediate)
    expect(asked.last).toBe(Math.min(5, part + 1))
  }
})

test('a part that fails does so in its turn, after the parts before it', async () => {
  const received: number[] = []
  const reading = (async () => {
    for await (const part of readAhead(partsOf(5, 3).parts)) {
      await new Promise(setImmediate)
      received.push(part)
    }
  })()
  await expect(reading).rejects.toThrow('part 3')
  expect(received).toEqual([1, 2])
})

test('who stops early ends what is read', async () => {
  const { asked, parts } = partsOf(5)
  for await (const _part of readAhead(parts)) break
  expect(asked).toEqual({ last: 2, isEnded: true })
})
