import { startTestApi, type TestApi } from '../api.ts'
import { formEntity } from '../entities.ts'
import { createTestReplica, type TestRecord } from '../replica.ts'
import type { CaseGroup, RelevanceCase } from './cases.ts'
import type { Verdict } from './figures.ts'

export type JudgedGroup = { readonly name: string; readonly verdicts: readonly Verdict[] }

const atATime = 8
const answerDeadlineMs = 20_000

/** Stores the titles of each case in a separate team, searches through the API, and returns the titles found. */
export async function judgeGroups(groups: readonly CaseGroup[], signal: AbortSignal): Promise<JudgedGroup[]> {
  signal.throwIfAborted()
  await using stack = new AsyncDisposableStack()
  const replica = await createTestReplica()
  stack.defer(() => replica.close())
  await replica.completeAccountKeys()
  const cases = groups.flatMap(({ cases: some }) => some)
  await replica.storeForms(...cases.flatMap(recordsOf))
  const keys = await Promise.all(cases.map((_case, row) => replica.storeKey(teamOf(row))))
  const api = await startTestApi({ settings: { INDEX_PREFIX: replica.prefix } })
  stack.defer(() => api.close())

  const verdicts = new Map<RelevanceCase, Verdict>()
  const rest = cases.entries()
  const askOn = async (): Promise<void> => {
    for (const [row, relevanceCase] of rest)
      verdicts.set(relevanceCase, {
        relevanceCase,
        found: await titlesFound(api, relevanceCase, keys[row] ?? '', signal),
      })
  }
  await Promise.all(Array.from({ length: atATime }, askOn))
  return groups.map(({ name, cases: some }) => ({
    name,
    verdicts: some.flatMap((relevanceCase) => verdicts.get(relevanceCase) ?? []),
  }))
}

const teamOf = (row: number): string => `team-${row}`

const recordsOf = ({ titles }: RelevanceCase, row: number): TestRecord[] =>
  titles.map((title, index) => {
    const id = `form-${index}`
    return { team: teamOf(row), id, entity: formEntity({ id, title }) }
  })

async function titlesFound(
  api: TestApi,
  { place, query }: RelevanceCase,
  key: string,
  signal: AbortSignal,
): Promise<string[]> {
  const { status, json, text } = await api.send(`/api/v1/forms?limit=100&titleContains=${encodeURIComponent(query)}`, {
    key,
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerDeadlineMs)]),
  })
  if (status !== 200) throw new Error(`${place}: ${status} ${text}`)
  return (json as { items: { title: string }[] }).items.map(({ title }) => title)
}
