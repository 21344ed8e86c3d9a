/**
 * The lower bound of a program that reads a whole list. For a request, it reads all rows of a team, newest first, by `search_after` in a point in
 * time, and sends one line break a row. `node bareLoopProcess.ts <port> <Elasticsearch> <index> <team>`
 */
import { createServer, type ServerResponse } from 'node:http'
import { Client } from '@elastic/elasticsearch'

const [port, node = '', index = '', team = ''] = process.argv.slice(2)
const client = new Client({ node })
const rowsAtOnce = 1_000

async function readAll(response: ServerResponse): Promise<void> {
  const keepAlive = '1m'
  const { id } = await client.openPointInTime({ index, keep_alive: keepAlive, routing: team })
  for (let after: (string | number | boolean | null)[] | undefined; ; ) {
    const { hits } = await client.search({
      pit: { id, keep_alive: keepAlive },
      size: rowsAtOnce,
      track_total_hits: false,
      query: { term: { teamId: team } },
      sort: [{ teamId: 'asc' }, { position: 'desc' }],
      ...(after && { search_after: after }),
    })
    response.write('\n'.repeat(hits.hits.length))
    after = hits.hits.at(-1)?.sort as typeof after
    if (hits.hits.length < rowsAtOnce) break
  }
  await client.closePointInTime({ id })
  response.end()
}

const server = createServer((request, response) => {
  if (request.url === '/') response.end()
  else readAll(response).catch(() => response.destroy())
})
server.listen(Number(port), '127.0.0.1')
