import { about } from './api/about.ts'
import { startBareReader } from './api/bareReader.ts'
import { compareAtRest, compareUnderWrites, writesPerSecond } from './api/comparisons.ts'
import type { Measuring } from './api/contenders.ts'
import { lackingDescriptors } from './api/idle/descriptors.ts'
import { idleSize, mostOf } from './api/idle/size.ts'
import { benchIdle } from './api/idle.ts'
import { mixedSize } from './api/mixed/size.ts'
import { benchMixed } from './api/mixed.ts'
import { serveReplica } from './api/replica.ts'
import { expectSameAnswers } from './api/sameAnswers.ts'
import { fillTable } from './api/sqlTable.ts'
import { createSubmissions } from './api/submissions.ts'
import { whileWriting } from './api/writer.ts'
import { startLoadGenerator } from './load/generator.ts'
import { measure } from './measuring.ts'
import { postgresVersion, startPostgres, withoutPostgres } from './postgres.ts'
import { joined, type Part, type Results } from './results.ts'
import type { Stage } from './stage.ts'

/**
 * Measures lists of a large team: deep pages, Elasticsearch asked directly, conditional requests, and PostgreSQL; then many teams
 * that poll at once, and idle connections.
 */
export async function benchApi(stage: Stage): Promise<Results> {
  const lacking = await lackingDescriptors(mostOf(idleSize))
  if (lacking !== undefined) process.stdout.write(`${lacking}\n`)
  const submissions = createSubmissions()
  const replica = await serveReplica(stage, submissions.past())
  const sql = await startPostgres(stage)
  if (sql === undefined) process.stdout.write(`${withoutPostgres}\n`)
  else await fillTable(sql, createSubmissions().past(), stage.signal)
  const generator = startLoadGenerator()
  stage.release(() => generator.close())
  const bareOrigin = await startBareReader(stage)
  const measuring: Measuring = { ...replica, bareOrigin, generator, stage }
  await expectSameAnswers(measuring, sql)

  const atRest = await compareAtRest(measuring, sql)
  const underWrites = compareUnderWrites(measuring)
  const samplesAtRest = await measure('Measuring at rest', atRest)
  const writeOne = (): Promise<void> => replica.append([submissions.next()])
  const samplesUnderWrites = await whileWriting(writeOne, writesPerSecond, stage.signal, () =>
    measure('Measuring under writes', underWrites),
  )
  const parts: Part[] = [
    { sections: atRest.sections, samples: samplesAtRest },
    { sections: underWrites.sections, samples: samplesUnderWrites },
    await benchMixed(stage, replica, bareOrigin, mixedSize),
    ...(lacking === undefined ? [await benchIdle(stage, replica, idleSize)] : []),
  ]
  return {
    title: 'Lists of a large team through the API',
    about: about(sql !== undefined, lacking),
    versions: [...stage.versions, ...(sql === undefined ? [] : [await postgresVersion(sql)])],
    ...joined(parts),
  }
}
