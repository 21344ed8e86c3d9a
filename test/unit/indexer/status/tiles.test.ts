import { highestOf, lineChart, type Point } from '../../../../indexer/status/tiles.ts'

const span = { fromMs: 0, toMs: 100, label: 'Lag <now>' }
const drawn = async (points: readonly Point[]): Promise<string> => String(await lineChart(points, span))
const lineIn = (svg: string): string => /class="line" d="([^"]*)"/.exec(svg)?.[1] ?? ''
const at = (atMs: number, value: number | undefined): Point => ({ atMs, value })

test('a line goes over the whole span, on a scale from 0 to the highest', async () => {
  expect(lineIn(await drawn([at(0, 0), at(50, 10), at(100, 5)]))).toBe('M0.0 62.0L160.0 2.0L320.0 32.0')
})

test('it breaks where nothing was known', async () => {
  expect(lineIn(await drawn([at(0, 1), at(25, undefined), at(50, 1), at(100, 1)]))).toBe('M0.0 2.0M160.0 2.0L320.0 2.0')
})

test('nothing but zeros lies on the ground; without figures there is no line', async () => {
  expect(lineIn(await drawn([at(0, 0), at(100, 0)]))).toBe('M0.0 62.0L320.0 62.0')
  expect(lineIn(await drawn([at(0, undefined)]))).toBe('')
  expect([highestOf([at(0, undefined)]), highestOf([at(0, 2), at(1, 1)])]).toEqual([undefined, 2])
})

test('what came before the span is left out, and the label is escaped', async () => {
  const svg = await drawn([at(-10, 4), at(0, 2), at(100, 4)])
  expect(lineIn(svg)).toBe('M0.0 32.0L320.0 2.0')
  expect(svg).toContain('aria-label="Lag &lt;now&gt;"')
})
