/** The ceiling: sends ready-made bulk bodies from files, `atOnce` at a time, then refreshes. */
import { readFile } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'

const [node = '', indices = '', atOnce, list = ''] = process.argv.slice(2)
const requestTimeout = 60_000
const client = new Client({ node, maxRetries: 0 })
const paths = (await readFile(list, 'utf8')).split('\n')

const push = async (): Promise<void> => {
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    const bulkBody = await readFile(path)
    const answer = await client.transport.request<{ errors: boolean }>(
      { method: 'POST', path: '/_bulk', querystring: { require_alias: true, filter_path: 'errors' }, bulkBody },
      { requestTimeout },
    )
    if (answer.errors) throw new Error(`Elasticsearch refuses documents of ${path}`)
  }
}

await Promise.all(Array.from({ length: Number(atOnce) }, push))
await client.indices.refresh({ index: indices.split(',') }, { requestTimeout })
// The parent reads the resource usage of this process, then ends it.
setInterval(() => undefined, requestTimeout)
