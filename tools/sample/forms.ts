import type { Scene } from '../../src/core/model/form.ts'
import type { Language, Subject } from './languages/language.ts'
import { type Quiz, quizOf } from './quiz.ts'
import { entityId, type Random, seededRandom, token } from './random.ts'
import { type Team, teams } from './teams.ts'

export type FormPlan = {
  readonly team: Team
  readonly id: string
  readonly language: Language
  readonly subject: Subject
  readonly scene: Scene
  readonly title: string
  readonly publicToken: string
  readonly createdMs: number
  /** A draft gets no submissions. A discarded form is deleted later. */
  readonly state: 'published' | 'draft' | 'discarded'
  /** Share of the team's submissions, relative to the other forms. */
  readonly weight: number
  readonly quiz: Quiz
  readonly askedCount: number
  /** Results of all respondents, 0 to 100, for each dimension. */
  readonly averages: readonly number[]
}

export const levelThresholdsPercent = [0, 40, 60, 80] as const

const dayMs = 86_400_000
/** Forms are created before the first submission of the sample. */
const oldestDays = 400
const newestDays = 92
const askedAtRandom = 4

/** Within a team, forms without submissions come last. */
export function planForms(seed: string, nowMs: number): FormPlan[] {
  return teams.flatMap((team) => {
    const subjects = team.catalogue.flatMap(({ language, subjects: keys }) =>
      keys.map((key) => ({ language, subject: subjectOf(language, key) })),
    )
    const [first] = subjects
    const published = subjects.flatMap(({ language, subject }) =>
      language.editions
        .slice(0, team.editions)
        .map((_, edition) => plan({ seed, nowMs, team, language, subject, edition, state: 'published' })),
    )
    if (first === undefined) return published
    const states = ['draft', 'discarded'] as const
    return [
      ...published,
      ...states.map((state) => plan({ seed: `${seed}/${state}`, nowMs, team, ...first, edition: 0, state })),
    ]
  })
}

function subjectOf(language: Language, key: string): Subject {
  const subject = language.subjects.find((candidate) => candidate.key === key)
  if (subject === undefined) throw new Error(`${language.locale} has no subject ${key}`)
  return subject
}

type PlanOptions = {
  seed: string
  nowMs: number
  team: Team
  language: Language
  subject: Subject
  /** 0 to 2. Edition 2 of a knowledge quiz asks a random choice of its questions. */
  edition: number
  state: FormPlan['state']
}

function plan({ seed, nowMs, team, language, subject, edition, state }: PlanOptions): FormPlan {
  const random = seededRandom(`${seed}/form/${team.id}/${subject.key}/${edition}`)
  const createdMs = nowMs - Math.floor((newestDays + random.float() * (oldestDays - newestDays)) * dayMs)
  const quiz = quizOf(subject, language, random)
  const isRandom = subject.scene === 'knowledge_quiz' && edition === 2
  return {
    team,
    id: entityId(random, createdMs),
    language,
    subject,
    scene: isRandom ? 'random_knowledge_quiz' : subject.scene,
    title: titleOf(language.editions[edition] ?? '{title}', subject, nowMs),
    publicToken: token(random, 8),
    createdMs,
    state,
    weight: state === 'published' ? 1 / (edition + 1) : 0,
    quiz,
    askedCount: isRandom ? askedAtRandom : quiz.questions.length,
    averages: quiz.dimensions.map(() => 45 + random.below(35)),
  }
}

const titleOf = (pattern: string, subject: Subject, nowMs: number): string =>
  pattern.replace('{title}', subject.title).replace('{year}', String(new Date(nowMs).getUTCFullYear()))

/** After `edits` changes, the last of them at `updatedMs`: the Form of the specification, with further settings. */
export function renderForm(plan: FormPlan, edits: number, updatedMs: number): Record<string, unknown> {
  const { id, title, scene, language, publicToken, createdMs, subject } = plan
  const random = seededRandom(`${id}/look`)
  return {
    id,
    title,
    scene,
    language: language.locale,
    publicToken,
    shareUrl: `https://quiz.example/f/${publicToken}`,
    localization: localizationOf(plan, random),
    isActive: plan.state === 'published',
    createdAt: new Date(createdMs).toISOString(),
    updatedAt: new Date(updatedMs).toISOString(),
    description: random.chance(0.85) ? subject.description : null,
    layout: random.pick(['classic', 'one_question_per_page', 'card']),
    systemText: edits > 0 || random.chance(0.6) ? { ...language.systemText } : null,
    fields: fieldsOf(plan),
    report: reportOf(plan),
    settings: {
      timeLimitMinutes: scene === 'outcome_quiz' ? null : 10 + 5 * (edits % 4),
      showCorrectAnswers: scene.endsWith('knowledge_quiz'),
      submissionsPerPerson: edits > 1 ? 3 : 1,
    },
  }
}

function localizationOf({ team, language }: FormPlan, random: Random): Record<string, unknown> | null {
  const others = team.catalogue.map((entry) => entry.language).filter((other) => other !== language)
  if (others.length === 0 || random.chance(0.6)) return null
  const other = random.pick(others)
  return {
    defaultLanguage: language.locale,
    languages: [language.locale, other.locale],
    texts: { [other.locale]: { start: other.systemText.start, submit: other.systemText.submit } },
  }
}

function fieldsOf({ quiz, language, scene }: FormPlan): Record<string, unknown>[] {
  const { contact } = language
  const questions = quiz.questions.map(({ code, title, kind, options }) => ({
    code,
    type: kind,
    title,
    required: true,
    options: options.map(({ value, label, points }) => ({ value, label, score: points })),
    ...(scene.endsWith('knowledge_quiz') && { correct: options.find(({ points }) => points > 0)?.value ?? null }),
  }))
  const half = Math.ceil(questions.length / 2)
  return [
    ...questions.slice(0, half),
    { code: 'page_2', type: 'page_break', title: null },
    ...questions.slice(half),
    { code: 'page_3', type: 'page_break', title: contact.page },
    { code: 'name', type: 'short_text', title: contact.name, required: false },
    { code: 'email', type: 'email', title: contact.email, required: false },
    {
      code: 'heard_from',
      type: 'multiple_choice',
      title: contact.heardFrom,
      required: false,
      options: contact.channels.map((label, index) => ({ value: 'abcd'.charAt(index), label })),
    },
    { code: 'comment', type: 'long_text', title: contact.comment, required: false },
  ]
}

function reportOf({ quiz, language, scene }: FormPlan): Record<string, unknown> {
  const dimensions = quiz.dimensions.map((name, index) => ({
    code: `d${index + 1}`,
    name,
    fields: quiz.questions.filter(({ options }) => options.some((o) => o.dimension === index)).map(({ code }) => code),
  }))
  return {
    levels: language.levels.map(({ name }, index) => ({ name, fromPercent: levelThresholdsPercent[index] })),
    dimensionAnalysis: { enabled: true, title: language.dimensionsTitle, chart: 'radar', dimensions },
    outcomes: scene === 'outcome_quiz' ? dimensions.map(({ code, name }) => ({ code, name })) : [],
    aiSuggestion: { enabled: true, tone: 'encouraging', maxWords: 180 },
  }
}
