import { wayOf } from '../../../../../tools/bench/search/pools.ts'

test('a search went the exact way when all titles hold what was typed, the similar way when none does', () => {
  expect(wayOf(['Final Exam', 'Exams of May'], 'exam')).toBe('exact')
  expect(wayOf(['Final Exam', 'Exams of May'], 'exma')).toBe('similar')
  expect(wayOf(['Final Exam', 'Example'], 'final')).toBe('neither')
  expect(wayOf([], 'final')).toBe('neither')
})
