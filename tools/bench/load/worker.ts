/** The load generator's thread: does one job after the other, each over connections of its own. */
import type { Asker } from './asker.ts'
import { drive } from './drive.ts'
import { askHttp } from './http.ts'
import type { Job, Outcome, Pace, Target } from './job.ts'
import { askPostgres } from './sql.ts'
import { doJobs } from './thread.ts'

const connectionsFor = (turns: Target['turns'], { atOnce }: Pace): number =>
  atOnce * Math.max(...turns.map(({ length }) => length))

async function perform({ target, pace }: Job): Promise<Outcome> {
  const connections = connectionsFor(target.turns, pace)
  if (target.kind === 'http') return await takeTurns(askHttp(target.origin, connections), target.turns, pace)
  return await takeTurns(await askPostgres(target.address, connections), target.turns, pace)
}

async function takeTurns<T>(asker: Asker<T>, turns: readonly (readonly T[])[], pace: Pace): Promise<Outcome> {
  try {
    return await drive((turn) => asker.ask(turns[turn % turns.length] ?? []), pace)
  } finally {
    await asker.close()
  }
}

doJobs(perform)
