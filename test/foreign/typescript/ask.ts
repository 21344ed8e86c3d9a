/**
 * Asks the API at BASE_URL with the key KEY the same questions by each generated client, and prints each client's answers as a line. Compiled beside
 * the clients.
 */

import axios from 'axios'
import { client as heyClient } from './hey-api/client.gen'
import * as hey from './hey-api/sdk.gen'
import { Configuration, FormsApi, RecordsApi } from './openapi-generator/index'
import * as orval from './orval/client'

declare const process: { env: Record<string, string | undefined> }
declare const console: { log(text: string): void }

const { BASE_URL: baseUrl = '', KEY: key = '' } = process.env
const answers = JSON.stringify({ 'q:1 <é>': 'a b&c', q2: ['none', 'x'] })

/** Prints answers under the name of their client. */
const print = (client: string, said: object): void => console.log(JSON.stringify({ client, ...said }))

/** Text of a time, or the Date that a client makes of it. */
const timeOf = (time: string | Date | undefined): string | undefined =>
  time instanceof Date ? time.toISOString() : time

async function askWithOpenapiGenerator(): Promise<void> {
  const configuration = new Configuration({ basePath: baseUrl, accessToken: key })
  const [records, forms] = [new RecordsApi(configuration), new FormsApi(configuration)]
  const page = await records.listRecords({ limit: 100 })
  const filtered = await records.listRecords({ answers, since: '2026-04-01' })
  const selected = await records.listRecords({ limit: 1, fields: 'id,result.score' })
  const counts = await records.countRecords({ by: 'day,status' })
  const record = await records.getRecord({ id: 'asked' })
  const form = await forms.getForm({ id: 'form-1' })
  print('openapi-generator typescript-fetch', {
    total: page.totalDocs,
    page: page.items.map(({ id, examinee, result }) => [id, examinee?.email ?? null, result?.score ?? null]),
    filtered: filtered.items.map(({ id, data }) => [id, data?.['q2']]),
    selected: selected.items.map(({ formId, result }) => [formId ?? null, result?.score]),
    counts: counts.items.map(({ key, count }) => [key, count]),
    record: [record.serialNumber, timeOf(record.submittedAt), record.reportResult?.dimensionAnalysis?.radar],
    form: [form.title, form.scene, form.fields, form.localization],
  })
}

async function askWithHeyApi(): Promise<void> {
  heyClient.setConfig({ baseUrl, auth: key })
  const thrown = { throwOnError: true } as const
  const { data: page } = await hey.listRecords({ ...thrown, query: { limit: 100 } })
  const { data: filtered } = await hey.listRecords({ ...thrown, query: { answers, since: '2026-04-01' } })
  const { data: selected } = await hey.listRecords({ ...thrown, query: { limit: 1, fields: 'id,result.score' } })
  const { data: counts } = await hey.countRecords({ ...thrown, query: { by: 'day,status' } })
  const { data: record } = await hey.getRecord({ ...thrown, path: { id: 'asked' } })
  const { data: form } = await hey.getForm({ ...thrown, path: { id: 'form-1' } })
  print('hey-api', {
    total: page.totalDocs,
    page: page.items.map(({ id, examinee, result }) => [id, examinee?.email ?? null, result?.score ?? null]),
    filtered: filtered.items.map(({ id, data }) => [id, data?.['q2']]),
    selected: selected.items.map(({ formId, result }) => [formId ?? null, result?.score]),
    counts: counts.items.map(({ key, count }) => [key, count]),
    record: [record.serialNumber, timeOf(record.submittedAt), record.reportResult?.dimensionAnalysis?.radar],
    form: [form.title, form.scene, form.fields, form.localization],
  })
}

async function askWithOrval(): Promise<void> {
  axios.defaults.baseURL = baseUrl
  axios.defaults.headers.common['Authorization'] = `Bearer ${key}`
  const list = async (parameters: orval.ListRecordsParams): Promise<orval.SubmissionList> => {
    const { data } = await orval.listRecords(parameters)
    if (typeof data === 'string') throw new Error(`no JSON: ${data}`)
    return data
  }
  const page = await list({ limit: 100 })
  const filtered = await list({ answers, since: '2026-04-01' })
  const selected = await list({ limit: 1, fields: 'id,result.score' })
  const { data: counts } = await orval.countRecords({ by: 'day,status' })
  const { data: record } = await orval.getRecord('asked')
  const { data: form } = await orval.getForm('form-1')
  print('orval', {
    total: page.totalDocs,
    page: page.items.map(({ id, examinee, result }) => [id, examinee?.email ?? null, result?.score ?? null]),
    filtered: filtered.items.map(({ id, data }) => [id, data?.['q2']]),
    selected: selected.items.map(({ formId, result }) => [formId ?? null, result?.score]),
    counts: counts.items.map(({ key, count }) => [key, count]),
    record: [record.serialNumber, timeOf(record.submittedAt), record.reportResult?.dimensionAnalysis?.radar],
    form: [form.title, form.scene, form.fields, form.localization],
  })
}

void askWithOpenapiGenerator().then(askWithHeyApi).then(askWithOrval)
