import type { FormPlan } from './forms.ts'
import type { Option, Question } from './quiz.ts'
import type { Random } from './random.ts'

export type Score = { readonly score: number; readonly maxScore: number }

/** One respondent's answers and their scores. */
export type Answers = {
  /** Answers to the quiz's questions by field code. */
  readonly data: Readonly<Record<string, string | number>>
  readonly total: Score
  /** One for each dimension of the form. */
  readonly dimensions: readonly Score[]
}

/** Answers the questions of `form` with a random ability, or a random leaning towards one outcome. */
export function answer(form: FormPlan, random: Random): Answers {
  const { questions, dimensions } = form.quiz
  const asked =
    form.askedCount < questions.length ? random.shuffled(questions).slice(0, form.askedCount) : [...questions]
  const ability = (random.float() + random.float() + 0.4) / 2.4
  const preferred = random.below(dimensions.length)
  const chosen = asked.map((question) => ({ question, option: choose(form, question, ability, preferred, random) }))
  const scores = dimensions.map((_, dimension) => ({
    score: sum(chosen.filter(({ option }) => option.dimension === dimension).map(({ option }) => option.points)),
    maxScore: sum(asked.map(({ options }) => mostPoints(options, dimension))),
  }))
  const maxScore = form.scene === 'outcome_quiz' ? asked.length : sum(scores.map((each) => each.maxScore))
  const total = { score: sum(chosen.map(({ option }) => option.points)), maxScore }
  return {
    data: Object.fromEntries(
      chosen.map(({ question, option }) => [
        question.code,
        question.kind === 'scale' ? Number(option.value) : option.value,
      ]),
    ),
    total: form.scene === 'outcome_quiz' ? { ...total, score: Math.max(...scores.map(({ score }) => score)) } : total,
    dimensions: scores,
  }
}

function choose(
  { scene }: FormPlan,
  { options }: Question,
  ability: number,
  preferred: number,
  random: Random,
): Option {
  switch (scene) {
    case 'scored_quiz': {
      const leaning = ability + (random.float() - 0.5) * 0.5
      const at = Math.round(leaning * (options.length - 1))
      return options[Math.min(Math.max(at, 0), options.length - 1)] ?? random.pick(options)
    }
    case 'outcome_quiz':
      return random.chance(0.5) ? optionOf(options, preferred, random) : random.pick(options)
    case 'knowledge_quiz':
    case 'random_knowledge_quiz': {
      const right = options.find(({ points }) => points > 0)
      return right !== undefined && random.chance(0.2 + 0.8 * ability) ? right : random.pick(options)
    }
  }
}

const optionOf = (options: readonly Option[], dimension: number, random: Random): Option =>
  options.find((option) => option.dimension === dimension) ?? random.pick(options)

const mostPoints = (options: readonly Option[], dimension: number): number =>
  Math.max(0, ...options.filter((option) => option.dimension === dimension).map(({ points }) => points))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
