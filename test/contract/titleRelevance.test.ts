import { useStarted } from '../support/lifecycle.ts'
import { readGroups } from '../support/titleRelevance/cases.ts'
import { areGood, failuresOf, figuresOf } from '../support/titleRelevance/figures.ts'
import { type JudgedGroup, judgeGroups } from '../support/titleRelevance/judge.ts'
import { renderFailure } from '../support/titleRelevance/report.ts'

const deadlineMs = 200_000

const judging = (): Promise<readonly JudgedGroup[]> => judgeGroups(readGroups(), AbortSignal.timeout(deadlineMs))
const judged = useStarted('the judging', judging, { patienceMs: deadlineMs + 20_000 })

test.each(['given', 'own'])('the typed texts of the %s rows find the intended titles, and few others', (name) => {
  const verdicts = judged.find((group) => group.name === name)?.verdicts ?? []
  expect(verdicts.length).toBeGreaterThan(0)
  const figures = figuresOf(verdicts)
  const failures = areGood(figures) ? [] : failuresOf(verdicts).map(renderFailure)
  expect({ figures, failures }).toEqual({ figures, failures: [] })
})
