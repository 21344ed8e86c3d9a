import { areGood, figuresOf, thresholds, type Verdict } from '../../../support/titleRelevance/figures.ts'

const verdict = (titles: string[], expected: string[], found: string[], query = 'q'): Verdict => ({
  relevanceCase: { place: 'f.tsv:2', titles, query, expected, why: 'so' },
  found,
})
const hit = verdict(['A'], ['A'], ['A'])
const miss = verdict(['A'], ['A'], [])
const wrong = verdict(['A'], [], ['A'])
const rightlyNothing = verdict(['A'], [], [])

test.each([
  ['all is right', [hit, rightlyNothing], { rows: 2, recall: 1, precision: 1 }],
  ['one of two is missed', [hit, miss], { rows: 2, recall: 0.5, precision: 1 }],
  ['one of two is wrongly found', [hit, wrong], { rows: 2, recall: 1, precision: 0.5 }],
  ['nothing was expected and nothing found', [rightlyNothing], { rows: 1, recall: 1, precision: 1 }],
  ['all is wrong', [miss, wrong], { rows: 2, recall: 0, precision: 0 }],
  [
    'each title of a set counts',
    [verdict(['A', 'B', 'C', 'D'], ['A', 'B', 'C'], ['B', 'C', 'D']), hit],
    { rows: 2, recall: 3 / 4, precision: 3 / 4 },
  ],
])('figures when %s', (_what, verdicts, figures) => {
  expect(figuresOf(verdicts)).toEqual(figures)
})

test('both thresholds must be reached', () => {
  const at = { rows: 1, ...thresholds }
  expect(areGood(at)).toBe(true)
  expect(areGood({ ...at, recall: at.recall - 0.001 })).toBe(false)
  expect(areGood({ ...at, precision: at.precision - 0.001 })).toBe(false)
})
