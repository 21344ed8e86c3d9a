import { resolve } from 'node:path'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { usePythonPipeline } from '../support/usePythonPipeline.ts'

const team = 'acme'
const pageSize = 20
const formIds = idsOf('form', 45)
const submissionIds = idsOf('submission', 330)
/** So many have the same time that pages begin and end among them. */
const tied = 13
const deadlineMs = 60_000
const testTimeoutMs = 300_000

type Row = Readonly<Record<string, unknown>> & { readonly id: string }
type Table = 'forms' | 'records' | 'new_records'

const opened = usePythonPipeline()

test(
  'a warehouse that dlt loads again and again holds each form and submission of the team once, as it is now',
  async () => {
    const { pipeline } = opened
    await pipeline.createKeys([team, 'other'])
    await pipeline.produce('forms', formIds.map(formMessage))
    await pipeline.produce('submissions', submissionIds.map(submissionMessage))
    await pipeline.produce('submissions', [message('other', submissionEntity({ id: 'of-another-team' }))])

    await sync()
    expect(ids(await rows('forms'))).toEqual(formIds)
    const first = await rows('records')
    expect(ids(first)).toEqual(submissionIds)
    expect(ids(await rows('new_records'))).toEqual(submissionIds)
    expect(first[0]).toMatchObject({ form_id: 'form-000', data: JSON.stringify(answersOf(0)) })

    await sync()
    expect(ids(await rows('forms'))).toEqual(formIds)
    expect(await rows('records')).toEqual(first)
    expect(ids(await rows('new_records'))).toEqual(submissionIds)

    const newest = submittedAt(submissionIds.length - 1)
    await pipeline.produce('submissions', [
      message(team, submissionEntity({ id: 'x-newer', submittedAt: submittedAt(submissionIds.length + tied) })),
      message(team, submissionEntity({ id: 'x-as-new-as-the-newest', submittedAt: newest })),
      message(team, submissionEntity({ id: 'x-written-late', submittedAt: submittedAt(0) })),
      message(team, submissionEntity({ id: 'submission-000', submittedAt: submittedAt(0), data: { q: 'changed' } }), 2),
    ])
    await sync()
    const later = await rows('records')
    expect(ids(later)).toEqual([...submissionIds, 'x-as-new-as-the-newest', 'x-newer', 'x-written-late'])
    expect(later[0]).toMatchObject({ data: '{"q":"changed"}' })
    expect(later.slice(1, submissionIds.length)).toEqual(first.slice(1))

    const created = await rows('new_records')
    expect(ids(created)).toEqual([...submissionIds, 'x-as-new-as-the-newest', 'x-newer'])
    expect(created[0]).toMatchObject({ data: first[0]?.['data'] })
  },
  testTimeoutMs,
)

function idsOf(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${kind}-${String(at).padStart(3, '0')}`)
}

const submittedAt = (at: number): string => new Date(Date.UTC(2026, 3, 1, 12, Math.floor(at / tied))).toISOString()
const answersOf = (at: number) => ({ 問い: 'はい 🎉', 'q.1': { größe: [at, null] } })
const formMessage = (id: string) => message(team, formEntity({ id, title: `Größenwahn 期末 ${id}` }))
const submissionMessage = (id: string, at: number) =>
  message(team, submissionEntity({ id, formId: 'form-000', submittedAt: submittedAt(at), data: answersOf(at) }))

function message(owner: string, entity: { readonly id: string }, revision = 1): { key: string; value: string } {
  const member = 'scene' in entity ? 'form' : 'submission'
  return { key: `${owner}/${entity.id}`, value: JSON.stringify({ revision, [member]: entity }) }
}

/** Loads what the API knows by now, as an analyst's scheduler would. */
async function sync(): Promise<void> {
  const { pipeline, api, folder } = opened
  await pipeline.untilApplied(api, team)
  await python('connectors/snippets/dlt_pages.py', ['warehouse.duckdb'], {
    TIDEMARK_URL: `${api.url}/api/v1`,
    TIDEMARK_KEY: pipeline.keyOf(team),
    PAGE_SIZE: String(pageSize),
    DLT_DATA_DIR: resolve(folder, 'dlt'),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    RUNTIME__LOG_LEVEL: 'ERROR',
  })
}

/** A table of the warehouse by id, without what dlt notes about its own runs. */
async function rows(table: Table): Promise<Row[]> {
  const lines = (await python('test/e2e/python/read_table.py', ['warehouse.duckdb', table])).trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Row).map(({ _dlt_id, _dlt_load_id, ...row }) => row as Row)
}

const python = (script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
  opened.tools.run('python', [resolve(script), ...args], { folder: opened.folder, env, deadlineMs })

const ids = (table: readonly Row[]): string[] => table.map(({ id }) => id)
