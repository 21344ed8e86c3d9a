import { Client } from 'pg'
import type { Asker } from './asker.ts'
import type { SqlAddress, SqlQuery } from './job.ts'

/** Asks by prepared statements, each of the questions that are asked together on a connection of its own. */
export async function askPostgres(address: SqlAddress, connections: number): Promise<Asker<SqlQuery>> {
  const clients = Array.from({ length: connections }, () => new Client(address))
  await Promise.all(clients.map((client) => client.connect()))
  return {
    ask: async (queries) => {
      await Promise.all(
        queries.map(({ name, text, values }, at) =>
          clients[at]?.query({ name, text, values: [...values], rowMode: 'array' }),
        ),
      )
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.end()))
    },
  }
}
