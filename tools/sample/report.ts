import type { ReportStatus } from '../../src/core/model/submission.ts'
import type { Answers, Score } from './answers.ts'
import { type FormPlan, levelThresholdsPercent } from './forms.ts'
import type { Level } from './languages/language.ts'
import type { Random } from './random.ts'

const adviceParagraphs = 5

type Report = { readonly result: Record<string, unknown>; readonly reportResult: Record<string, unknown> }

export function renderReport(form: FormPlan, answers: Answers, status: ReportStatus, random: Random): Report {
  switch (status) {
    case 'pending':
      return withoutScores(status, null)
    case 'failed':
      return withoutScores(status, { status, content: null })
    case 'processing': {
      const overallAnalysis = { ...answers.total, level: levelOf(form, answers.total).name }
      return {
        result: { status, ...overallAnalysis, outcomeCode: null, outcomeName: null },
        reportResult: {
          ...withoutScores(status, { status, content: null }).reportResult,
          overallAnalysis: { ...overallAnalysis, summary: null, suggestions: null },
        },
      }
    }
    case 'completed':
      return completed(form, answers, random)
  }
}

function withoutScores(status: ReportStatus, aiSuggestion: Record<string, unknown> | null): Report {
  return {
    result: { status, score: null, maxScore: null, level: null, outcomeCode: null, outcomeName: null },
    reportResult: { status, overallAnalysis: null, dimensionAnalysis: null, outcome: null, aiSuggestion },
  }
}

function completed(form: FormPlan, answers: Answers, random: Random): Report {
  const status = 'completed'
  const { language, subject } = form
  const level = levelOf(form, answers.total)
  const filled = (text: string): string => text.replace('{subject}', subject.title)
  const ranking = form.scene === 'outcome_quiz' ? rankingOf(form, answers) : null
  const code = ranking?.[0]?.code ?? null
  const name = ranking?.[0]?.name ?? null
  const advice = random
    .shuffled(language.advice)
    .slice(0, adviceParagraphs)
    .map((text) => filled(text).replace('{dimension}', random.pick(form.quiz.dimensions)))
  return {
    result: { status, ...answers.total, level: level.name, outcomeCode: code, outcomeName: name },
    reportResult: {
      status,
      overallAnalysis: {
        ...answers.total,
        level: level.name,
        summary: filled(level.summary),
        suggestions: filled(level.suggestions),
      },
      dimensionAnalysis: dimensionAnalysis(form, answers),
      outcome: { code, name, ranking },
      aiSuggestion: { status, content: advice.join('\n\n') },
    },
  }
}

function dimensionAnalysis(form: FormPlan, answers: Answers): Record<string, unknown> {
  const { language, quiz, averages } = form
  const dimensions = quiz.dimensions.flatMap((name, index) => {
    const score = answers.dimensions[index]
    if (score === undefined || score.maxScore === 0) return []
    return [{ code: codeOf(index), name, score, percent: percentOf(score), average: averages[index] }]
  })
  return {
    title: language.dimensionsTitle,
    radar: dimensions.map(({ name, percent, average }) => ({ name, value: percent, average, max: 100 })),
    items: dimensions.map(({ code, name, score, percent }) => ({
      code,
      name,
      ...score,
      level: levelOf(form, score).name,
      analysis: remarkOf(language.remarks, percent).replace('{dimension}', name),
    })),
  }
}

/** From the most to the least fitting. */
const rankingOf = (form: FormPlan, answers: Answers) =>
  form.quiz.dimensions
    .map((name, index) => ({ code: codeOf(index), name, score: answers.dimensions[index]?.score ?? 0 }))
    .sort((a, b) => b.score - a.score)

const codeOf = (index: number): string => `d${index + 1}`

const percentOf = ({ score, maxScore }: Score): number => (maxScore === 0 ? 0 : Math.round((100 * score) / maxScore))

function levelOf({ language }: FormPlan, score: Score): Level {
  const percent = percentOf(score)
  const at = levelThresholdsPercent.findLastIndex((threshold) => percent >= threshold)
  return language.levels[at] ?? language.levels[0]
}

const remarkOf = ([weak, fair, strong]: readonly [string, string, string], percent: number): string => {
  if (percent < 40) return weak
  return percent < 75 ? fair : strong
}
