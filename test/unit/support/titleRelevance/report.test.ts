import { renderReport } from '../../../support/titleRelevance/report.ts'

test('a report is a table by script and in all, and below it each failure', () => {
  const verdicts = [
    {
      relevanceCase: { place: 'f.tsv:2', titles: ['Quiz'], query: 'kwiz', expected: ['Quiz'], why: 'so' },
      found: [],
    },
    {
      relevanceCase: { place: 'f.tsv:3', titles: ['期末'], query: '期中', expected: [], why: 'not so' },
      found: ['期末'],
    },
    {
      relevanceCase: { place: 'f.tsv:4', titles: ['Exam'], query: 'exam', expected: ['Exam'], why: 'so' },
      found: ['Exam'],
    },
  ]
  expect(renderReport('given', verdicts)).toBe(
    [
      'given rows         rows     recall  precision',
      'Latin                 2      0.500      1.000',
      'Han                   1      1.000      0.000',
      'in all                3      0.500      0.500',
      '',
      'f.tsv:2: title "Quiz", query "kwiz", expected yes (so)',
      'f.tsv:3: title "期末", query "期中", expected no (not so)',
    ].join('\n'),
  )
})
