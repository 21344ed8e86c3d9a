import { verdictOn } from '../report.ts'
import type { Part } from '../results.ts'
import type { Stage } from '../stage.ts'
import { ratiosByRound, spreadOf } from '../statistics.ts'
import { spreadText } from '../table.ts'
import { type IdleRun, measureIdle } from './idle/measure.ts'
import { apiServer, bareServer, type ServerName, serverNames } from './idle/servers.ts'
import { type IdleSize, mostOf } from './idle/size.ts'
import type { ServedReplica } from './replica.ts'

const mebibyte = 1024 ** 2
/** An API may keep so much more of an idle connection than a server that does nothing. */
const goal = { atMost: 2 }

/** Measures the memory of idle kept connections: of the API, and of servers that do nothing. */
export async function benchIdle(stage: Stage, replica: ServedReplica, size: IdleSize): Promise<Part> {
  const most = mostOf(size)
  // What is still on its way would change the list that connections ask about.
  await replica.untilFound()
  const servers = [apiServer(stage, replica), bareServer(stage, 'koa'), bareServer(stage, 'node:http')]
  const runs = await measureIdle(servers, size, stage.signal)
  const own = (name: ServerName): readonly IdleRun[] => runs.get(name) ?? []
  const kibibytes = (name: ServerName, count: number): number[] =>
    own(name).map(({ connections }) => connections.get(count) ?? Number.NaN)
  return {
    sections: [],
    samples: new Map(),
    counts: [
      {
        title: 'Idle kept connections: resident memory',
        header: ['', 'MiB before', ...size.connections.map((count) => `KiB each, ${count.toLocaleString('en')}`)],
        rows: serverNames.map((name) => [
          name,
          spreadText(spreadOf(own(name).map(({ beforeBytes }) => beforeBytes / mebibyte))),
          ...size.connections.map((count) => spreadText(spreadOf(kibibytes(name, count)))),
        ]),
      },
    ],
    verdicts: [
      verdictOn({
        figure: `API, memory of each of ${most.toLocaleString('en')} idle connections`,
        measured: spreadOf(ratiosByRound(kibibytes('API', most), kibibytes('node:http', most))),
        unit: '× node:http',
        goal,
      }),
    ],
  }
}
