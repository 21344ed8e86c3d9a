import type { Language, Subject } from './languages/language.ts'
import type { Random } from './random.ts'

export type Option = {
  readonly value: string
  readonly label: string
  readonly points: number
  /** The dimension that the points are added to. */
  readonly dimension: number
}
export type Question = {
  readonly code: string
  readonly title: string
  readonly kind: 'single_choice' | 'scale'
  readonly options: readonly Option[]
}
/** Questions, and the dimensions that their answers score. */
export type Quiz = { readonly dimensions: readonly string[]; readonly questions: readonly Question[] }

const pointsForRight = 10

/** A subject's questions with codes `q1`, `q2` …; options of choices are in random order. */
export function quizOf(subject: Subject, language: Language, random: Random): Quiz {
  const code = (index: number): string => `q${index + 1}`
  switch (subject.scene) {
    case 'knowledge_quiz': {
      const questions = subject.questions.map(([title, right, ...wrong], index) => {
        const dimension = index % subject.dimensions.length
        const options = [
          { label: right, points: pointsForRight, dimension },
          ...wrong.map((label) => ({ label, points: 0, dimension })),
        ]
        return choice(code(index), title, random.shuffled(options))
      })
      return { dimensions: subject.dimensions, questions }
    }
    case 'outcome_quiz': {
      const questions = subject.questions.map(([title, ...labels], index) => {
        const options = labels.map((label, dimension) => ({ label, points: 1, dimension }))
        return choice(code(index), title, random.shuffled(options))
      })
      return { dimensions: subject.outcomes, questions }
    }
    case 'scored_quiz': {
      const questions = subject.statements.map((title, index): Question => {
        const dimension = index % subject.dimensions.length
        const options = language.agreement.map((label, at) => ({
          value: String(at + 1),
          label,
          points: at + 1,
          dimension,
        }))
        return { code: code(index), title, kind: 'scale', options }
      })
      return { dimensions: subject.dimensions, questions }
    }
  }
}

const choice = (code: string, title: string, options: readonly Omit<Option, 'value'>[]): Question => ({
  code,
  title,
  kind: 'single_choice',
  options: options.map((option, index) => ({ value: 'abcd'.charAt(index), ...option })),
})
