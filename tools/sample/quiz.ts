import type { Language, Subject } from './languages/language.ts'
import type { Random } from './random.ts'

export type Option = {
  readonly value: string
  readonly label: string
  readonly points: number
  readonly dimension: number
}
export type Question = {
  readonly code: string
  readonly title: string
  readonly kind: 'single_choice' | 'scale'
  readonly options: readonly Option[]
}
export type Quiz = { readonly dimensions: readonly string[]; readonly questions: readonly Question[] }

const pointsForRight = 10

/** With codes `q1`, `q2` …, and with options in random order. */
export function quizOf(subject: Subject, language: Language, random: Random): Quiz {
  const dimensions = subject.scene === 'outcome_quiz' ? subject.outcomes : subject.dimensions
  if (subject.scene === 'scored_quiz') {
    const questions = subject.statements.map((title, index): Question => {
      const dimension = index % dimensions.length
      const options = language.agreement.map((label, at) => ({
        value: String(at + 1),
        label,
        points: at + 1,
        dimension,
      }))
      return { code: codeOf(index), title, kind: 'scale', options }
    })
    return { dimensions, questions }
  }
  const questions = subject.questions.map(([title, ...labels], index): Question => {
    const options = labels.map((label, at) =>
      subject.scene === 'outcome_quiz'
        ? { label, points: 1, dimension: at }
        : { label, points: at === 0 ? pointsForRight : 0, dimension: index % dimensions.length },
    )
    const shown = random.shuffled(options).map((option, at) => ({ value: 'abcd'.charAt(at), ...option }))
    return { code: codeOf(index), title, kind: 'single_choice', options: shown }
  })
  return { dimensions, questions }
}

const codeOf = (index: number): string => `q${index + 1}`
