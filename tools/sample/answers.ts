import type { FormPlan } from './forms.ts'
import type { Option, Question } from './quiz.ts'
import type { Random } from './random.ts'

export type Score = { readonly score: number; readonly maxScore: number }

export type Answers = {
  readonly data: Readonly<Record<string, string | number>>
  readonly total: Score
  /** One for each dimension of the form. */
  readonly dimensions: readonly Score[]
}

/** With a random ability, or a random leaning towards one outcome. */
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
  const maxScore = form.scene === 'outcome_quiz' ? asked.length : sum(scores.map(({ maxScore: most }) => most))
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

/** The best option, or that of the preferred outcome, with the probability `ability`; else a random one. */
function choose(
  { scene }: FormPlan,
  { options }: Question,
  ability: number,
  preferred: number,
  random: Random,
): Option {
  if (!random.chance(ability)) return random.pick(options)
  if (scene === 'outcome_quiz') return options.find(({ dimension }) => dimension === preferred) ?? random.pick(options)
  return options.reduce((best, option) => (option.points > best.points ? option : best))
}

const mostPoints = (options: readonly Option[], dimension: number): number =>
  Math.max(0, ...options.filter((option) => option.dimension === dimension).map(({ points }) => points))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)
