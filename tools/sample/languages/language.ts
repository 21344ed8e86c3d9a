import type { Scene } from '../../../src/core/model/form.ts'

/** Texts of the product, names of people, and quizzes. */
export type Language = {
  readonly locale: string
  readonly systemText: Readonly<Record<'start' | 'next' | 'back' | 'submit' | 'required' | 'thanks', string>>
  readonly contact: {
    readonly page: string
    readonly name: string
    readonly email: string
    readonly comment: string
    readonly heardFrom: string
    readonly channels: readonly string[]
  }
  /** From strong disagreement to strong agreement. */
  readonly agreement: readonly [string, string, string, string, string]
  /** From the weakest to the strongest. */
  readonly levels: readonly [Level, Level, Level, Level]
  /** On one dimension, from a weak to a strong result; `{dimension}` is replaced. */
  readonly remarks: readonly [string, string, string]
  readonly dimensionsTitle: string
  /** Paragraphs of an AI suggestion; `{dimension}` and `{subject}` are replaced. */
  readonly advice: readonly string[]
  readonly comments: readonly string[]
  readonly people: {
    readonly given: readonly string[]
    readonly family: readonly string[]
    readonly order: 'given first' | 'family first'
  }
  /** Titles of a subject's forms; `{title}` and `{year}` are replaced. */
  readonly editions: readonly [string, string, string]
  readonly subjects: readonly Subject[]
}

export type Level = { readonly name: string; readonly summary: string; readonly suggestions: string }

type About<S extends Scene> = {
  readonly scene: S
  /** Lower-case words and hyphens, for campaign names. */
  readonly key: string
  readonly title: string
  readonly description: string
}

/** Question, right answer, wrong answers; or question, and one option for each outcome, in order. */
type Question = readonly [string, string, string, string, string]
type Four = readonly [string, string, string, string]

/** Question `i` of a quiz with dimensions scores dimension `i` modulo 4. */
export type Subject =
  | (About<'knowledge_quiz'> & { readonly dimensions: Four; readonly questions: readonly Question[] })
  | (About<'scored_quiz'> & { readonly dimensions: Four; readonly statements: readonly string[] })
  | (About<'outcome_quiz'> & { readonly outcomes: Four; readonly questions: readonly Question[] })

const rows = (table: string, columns: number): string[][] =>
  table
    .trim()
    .split('\n')
    .map((line) => {
      const cells = line.split(' | ').map((cell) => cell.trim())
      if (cells.length !== columns) throw new Error(`a line has ${columns} cells: ${line}`)
      return cells
    })

/** One question a line, with four answers, separated by bars. Throws for a line with another number of answers. */
export const questions = (table: string): Question[] => rows(table, 5) as unknown as Question[]

/** One level a line: name, summary, suggestions. */
export const levels = (table: string): Language['levels'] =>
  rows(table, 3).map(([name = '', summary = '', suggestions = '']) => ({
    name,
    summary,
    suggestions,
  })) as unknown as Language['levels']
