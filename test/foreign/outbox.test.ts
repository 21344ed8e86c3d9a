import { readFile } from 'node:fs/promises'
import { eventually, succeeds } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { recordsOf } from '../support/topics.ts'
import { openConnect } from './support/debezium.ts'
import { describePostgresql, startPostgresql } from './support/postgresql.ts'

/** Includes the download of the connector on a new machine. */
const startMs = 15 * 60_000
/** How often to wait for the API: Kafka Connect takes up to half a minute to start on a busy machine. */
const tries = 4

describePostgresql('From the outbox of a PostgreSQL database to the API', () => {
  const pipeline = usePipeline()
  const postgresql = useStarted('PostgreSQL', startPostgresql)
  beforeAll(async () => {
    await postgresql.run(await readFile('docs/producers/outbox.sql', 'utf8'))
    await pipeline.startIndexer()
    await pipeline.createKeys(['acme', 'umbrella'])
  })
  const api = useStarted('the API', () => pipeline.startApi())
  const open = async () => openConnect(process.env['KAFKA_BROKERS'] ?? '', await connector())
  const connect = useStarted('Kafka Connect', open, { patienceMs: startMs })
  beforeAll(() => connect.start(), startMs)

  /** The documented connector, with this test's database and topics. */
  async function connector(): Promise<object> {
    const text = await readFile('docs/producers/outbox-connector.json', 'utf8')
    const { name, config } = JSON.parse(text) as { name: string; config: Record<string, string> }
    const prefix = pipeline.names.INDEX_PREFIX
    return {
      name,
      config: {
        ...config,
        'database.hostname': '127.0.0.1',
        'database.port': String(postgresql.port),
        'database.dbname': 'postgres',
        'topic.prefix': `${prefix}-quiz`,
        'transforms.outbox.route.topic.replacement': `${prefix}-${config['transforms.outbox.route.topic.replacement']}`,
      },
    }
  }

  const insert = (id: string, title: string): string =>
    `INSERT INTO form (team_id, id, title, scene, fields) VALUES ('acme', '${id}', '${title}', 'scored_quiz', '[{"b":1.50,"a":2}]')`
  const rename = (id: string, title: string): string => `UPDATE form SET title = '${title}' WHERE id = '${id}'`
  /** A form's title in the API, or the status of the answer. */
  const served = async (id: string, team = 'acme'): Promise<string | number> => {
    const { status, body } = await pipeline.get(api, team, `/api/v1/forms/${id}`)
    return status === 200 ? (body as { title: string }).title : status
  }

  async function expectServed(id: string, expected: string | number, team = 'acme'): Promise<void> {
    for (let left = tries; left > 0; left -= 1) {
      if (await succeeds(eventually(async () => (await served(id, team)) === expected))) return
    }
    throw new Error(`${id} is ${await served(id, team)}, not ${expected}; Kafka Connect said:\n${await connect.log()}`)
  }

  test('a committed transaction is served, with numbers and member order as written', async () => {
    await postgresql.run(insert('f1', 'Erstes Quiz ✓'))
    await expectServed('f1', 'Erstes Quiz ✓')
    const { body } = await pipeline.get(api, 'acme', '/api/v1/forms/f1')
    expect(body).toMatchObject({ scene: 'scored_quiz', fields: [{ b: 1.5, a: 2 }] })
    const headers = { authorization: `Bearer ${pipeline.keyOf('acme')}` }
    const answer = await fetch(`${api.url}/api/v1/forms/f1`, { headers })
    expect(await answer.text()).toContain('[{"b":1.50,"a":2}]')
  })

  test('a change is served, and a rolled-back change is not even in the topic', async () => {
    await postgresql.run(insert('f2', 'Before'))
    await postgresql.run(`BEGIN; ${rename('f2', 'Rolled back')}; ${insert('f3', 'Rolled back')}; ROLLBACK`)
    await postgresql.run(`BEGIN; ${rename('f2', 'Between')}; ${rename('f2', 'After')}; COMMIT`)
    await postgresql.run(insert('f4', 'Last'))
    await expectServed('f4', 'Last')
    await expectServed('f2', 'After')
    expect(await served('f3')).toBe(404)
    expect(await recordsAbout('acme/f2', 'acme/f3')).toEqual([
      ['acme/f2', 1, 'Before'],
      ['acme/f2', 2, 'Between'],
      ['acme/f2', 3, 'After'],
    ])
  })

  test('a deleted form is 404, and its record has a null value', async () => {
    await postgresql.run(insert('f5', 'Short-lived'))
    await expectServed('f5', 'Short-lived')
    await postgresql.run(`DELETE FROM form WHERE id = 'f5'`)
    await expectServed('f5', 404)
    expect(await recordsAbout('acme/f5')).toEqual([['acme/f5', 1, 'Short-lived'], ['acme/f5']])
  })

  test('a form that moves to another team is served to that team alone, and can move back only under another id', async () => {
    await postgresql.run(insert('f7', 'Moving'))
    await expectServed('f7', 'Moving')
    await postgresql.run(`UPDATE form SET team_id = 'umbrella' WHERE id = 'f7'`)
    await expectServed('f7', 'Moving', 'umbrella')
    await expectServed('f7', 404)
    expect(await recordsAbout('acme/f7')).toEqual([['acme/f7', 1, 'Moving'], ['acme/f7']])
    expect(await recordsAbout('umbrella/f7')).toEqual([['umbrella/f7', 2, 'Moving']])
    const back = postgresql.run(`UPDATE form SET team_id = 'acme' WHERE id = 'f7'`)
    await expect(back).rejects.toThrow('acme/f7 was deleted from forms, or moved to another team')
    await postgresql.run(`UPDATE form SET team_id = 'acme', id = 'f8' WHERE id = 'f7'`)
    await expectServed('f8', 'Moving')
    await expectServed('f7', 404, 'umbrella')
    await expect(postgresql.run(insert('f7', 'Used again'))).rejects.toThrow('it needs another id')
  })

  test('a change committed while the connector is down is served after its restart, though the outbox was emptied', async () => {
    await postgresql.run(insert('f6', 'Before'))
    await expectServed('f6', 'Before')
    await connect.kill()
    await postgresql.run(rename('f6', 'While it was down'))
    await postgresql.run('DELETE FROM tidemark_outbox')
    await connect.start()
    await expectServed('f6', 'While it was down')
  })

  test('no record of the outbox is a dead letter, and the connector may read no other table', async () => {
    expect(await recordsOf(pipeline.kafka, pipeline.names.TOPIC_DEAD_LETTERS)).toEqual([])
    const rights = `SELECT has_table_privilege('debezium', 'form', 'SELECT'), has_table_privilege('debezium', 'tidemark_outbox', 'SELECT')`
    expect(await postgresql.run(rights)).toBe('f|t')
  })

  /** Key, revision and title of each record of these forms; of a deletion, the key alone. */
  const recordsAbout = async (...keys: string[]): Promise<unknown[][]> =>
    (await recordsOf(pipeline.kafka, pipeline.names.TOPIC_FORMS, keys)).map(({ key, value }) => {
      if (value === null) return [String(key)]
      const { revision, form } = JSON.parse(String(value)) as { revision: number; form: { title: string } }
      return [String(key), revision, form.title]
    })
})
