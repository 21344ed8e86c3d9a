import { about } from './api/about.ts'
import { compareAtRest, compareUnderWrites, writesPerSecond } from './api/comparisons.ts'
import type { Measuring } from './api/contenders.ts'
import { serveReplica } from './api/replica.ts'
import { expectSameAnswers } from './api/sameAnswers.ts'
import { fillTable } from './api/sqlTable.ts'
import { createSubmissions } from './api/submissions.ts'
import { whileWriting } from './api/writer.ts'
import { startLoadGenerator } from './load/generator.ts'
import { measure } from './measuring.ts'
import { postgresVersion, startPostgres, withoutPostgres } from './postgres.ts'
import type { Results } from './results.ts'
import type { Stage } from './stage.ts'

/** Measures lists of a large team: deep pages, Elasticsearch asked directly, conditional requests, and PostgreSQL. */
export async function benchApi(stage: Stage): Promise<Results> {
  const submissions = createSubmissions()
  const replica = await serveReplica(stage, submissions.past())
  const sql = await startPostgres(stage)
  if (sql === undefined) process.stdout.write(`${withoutPostgres}\n`)
  else await fillTable(sql, createSubmissions().past(), stage.signal)
  const generator = startLoadGenerator()
  stage.release(() => generator.close())
  const measuring: Measuring = { ...replica, generator, stage }
  await expectSameAnswers(measuring, sql)

  const atRest = await compareAtRest(measuring, sql)
  const underWrites = compareUnderWrites(measuring)
  const samplesAtRest = await measure('Measuring at rest', atRest)
  const samplesUnderWrites = await whileWriting(replica, submissions.next, writesPerSecond, stage.signal, () =>
    measure('Measuring under writes', underWrites),
  )
  return {
    title: 'Lists of a large team through the API',
    about: about(sql !== undefined),
    versions: [...stage.versions, ...(sql === undefined ? [] : [await postgresVersion(sql)])],
    sections: [...atRest.sections, ...underWrites.sections],
    samples: new Map([...samplesAtRest, ...samplesUnderWrites]),
  }
}
