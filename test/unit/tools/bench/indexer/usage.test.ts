import { readUsage, usageFrom } from '../../../../../tools/bench/indexer/usage.ts'

const stat = '4711 (node (main) x) S 1 4711 4711 0 -1 4194304 9 0 0 0 250 50 7 8 20 0 11 0 12345 1000 300'
const status = 'Name:\tnode\nVmPeak:\t  900000 kB\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nThreads:\t11\n'

test('CPU time is that of the process alone, and the peak is of resident memory', () => {
  expect(usageFrom(stat, status)).toEqual({
    cpuMs: 3_000,
    peakResidentBytes: 200 * 1_024 ** 2,
  })
})

test('what has ended holds no memory', () => {
  expect(usageFrom(stat, 'Name:\tnode\nState:\tZ (zombie)\n')).toBeUndefined()
})

test('nothing is told of a process that does not run', async () => {
  expect(await readUsage(2 ** 30)).toBeUndefined()
})
