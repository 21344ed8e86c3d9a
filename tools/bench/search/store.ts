import type { Client } from '@elastic/elasticsearch'
import type { Instant } from '../../../src/core/model/instant.ts'
import { readFormRecord } from '../../../src/core/model/record.ts'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { formWrites } from '../../../src/core/stores/documents.ts'
import { connectElasticsearch } from '../../../src/core/stores/elasticsearch.ts'
import { aliasOf } from '../../../src/core/stores/indices.ts'
import type { Stage } from '../stage.ts'
import { storeWrites, type Write } from '../storeWrites.ts'
import { recordOf, type SampleForm, type SampleForms } from './forms.ts'
import { plainDefinition, plainIndex, plainSource } from './plainIndex.ts'

/** Bytes on disk of one form's list document. */
export type BytesPerForm = { readonly replica: number; readonly plain: number }

const mergeDeadlineMs = 600_000

/**
 * Stores the list document of each form in the index that serves, as an indexer would, and in the plain one; leaves both
 * searchable and each in one segment.
 */
export async function storeForms(stage: Stage, forms: SampleForms): Promise<BytesPerForm> {
  const { config, signal } = stage
  const client = connectElasticsearch(config)
  stage.release(() => client.close())
  const served = aliasOf(config.INDEX_PREFIX, 'forms')
  await client.indices.create({ index: plainIndex, ...(await plainDefinition()) }, { signal })
  await storeAll(client, served, forms, signal)
  const mergeOptions = { signal, requestTimeout: mergeDeadlineMs }
  for (const index of [served, plainIndex]) {
    process.stdout.write(`Merging ${index}\n`)
    await client.indices.forcemerge({ index, max_num_segments: 1 }, mergeOptions)
    await client.indices.refresh({ index }, { signal })
    await client.indices.flush({ index }, { signal })
  }
  const bytesPerForm = async (index: string): Promise<number> => {
    const { _all: all } = await client.indices.stats({ index, metric: 'store' }, { signal })
    return Math.round((all.primaries?.store?.size_in_bytes ?? Number.NaN) / forms.size.forms)
  }
  return { replica: await bytesPerForm(served), plain: await bytesPerForm(plainIndex) }
}

async function storeAll(client: Client, served: string, forms: SampleForms, signal: AbortSignal): Promise<void> {
  const bar = startProgressBar('Storing titles in Elasticsearch', forms.size.forms, process.stdout)
  const writes = Iterator.from(forms.all()).flatMap((form) => [replicaWrite(served, form), plainWrite(form)])
  await storeWrites(client, writes, (stored) => bar.reach(Math.floor(stored / 2)), signal).finally(bar.end)
}

function replicaWrite(index: string, form: SampleForm): Write {
  const { key, value } = recordOf(form)
  const change = readFormRecord(Buffer.from(key), Buffer.from(value))
  if (!change.ok) throw new Error(`${key} is no form`)
  const write = formWrites(change.value, form.createdAt as Instant).find(({ kind }) => kind === 'forms')
  if (write === undefined) throw new Error(`${key} has no list document`)
  return { index, id: write.id, teamId: write.teamId, source: write.source.toString() }
}

const plainWrite = (form: SampleForm): Write => ({
  index: plainIndex,
  id: `${form.teamId}/${form.id}`,
  teamId: form.teamId,
  source: plainSource(form),
})
