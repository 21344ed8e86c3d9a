import type { Problem } from '../../model/result.ts'
import type { Environment } from './environment.ts'

export const defaultTopics = {
  TOPIC_FORMS: 'forms',
  TOPIC_SUBMISSIONS: 'submissions',
  TOPIC_ACCOUNT_KEYS: 'account-keys',
  TOPIC_DEAD_LETTERS: 'dead-letters',
  TOPIC_KEY_AUDIT: 'account-key-audit',
} as const

/** No two variables may name the same topic. */
export function topicProblems(environment: Environment): Problem[] {
  const problems: Problem[] = []
  const topics = (Object.keys(defaultTopics) as (keyof typeof defaultTopics)[]).sort()
  for (const name of topics) {
    const twin = topics.find((other) => other < name && topicOf(environment, other) === topicOf(environment, name))
    if (twin === undefined) continue
    const [path, other] = environment[name] === undefined ? [twin, name] : [name, twin]
    problems.push({ path, rule: `must differ from ${other}` })
  }
  return problems
}

const topicOf = (environment: Environment, name: keyof typeof defaultTopics): string =>
  environment[name] ?? defaultTopics[name]
