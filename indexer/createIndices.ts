import { type Client, errors } from '@elastic/elasticsearch'
import { aliasOf, type DocumentKind, documentKinds, physicalName, readDefinition } from '../src/replica/indices.ts'

const timeoutMs = 30_000

/** Creates each index that no alias points at, with its alias in the same call. Safe to call from several processes at once. */
export async function createIndices(client: Client, prefix: string, signal: AbortSignal): Promise<void> {
  await Promise.all(
    documentKinds.map((kind) => createIndex(client, prefix, kind, { signal, requestTimeout: timeoutMs })),
  )
}

async function createIndex(
  client: Client,
  prefix: string,
  kind: DocumentKind,
  options: { signal: AbortSignal; requestTimeout: number },
): Promise<void> {
  const alias = aliasOf(prefix, kind)
  if (await client.indices.existsAlias({ name: alias }, options)) return
  const { version, settings, mappings } = await readDefinition(kind)
  const index = physicalName(prefix, kind, version, 1)
  const aliases = { [alias]: { is_write_index: true } }
  try {
    await client.indices.create({ index, settings, mappings, aliases }, options)
  } catch (error) {
    if (!isAlreadyThere(error)) throw error
  }
}

const isAlreadyThere = (error: unknown): boolean =>
  error instanceof errors.ResponseError && error.message.includes('resource_already_exists_exception')
