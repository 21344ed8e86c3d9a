import { eventually } from '../support/eventually.ts'
import type { Pipeline } from '../support/pipeline.ts'
import { runCommand } from '../support/programs.ts'
import { type TeamFollower, truthFor } from './follower.ts'
import type { startPollingReader, startSteadyWriter } from './live.ts'

type Watched = {
  /** The API, or what stands before several. */
  readonly front: { readonly url: string }
  readonly writer: ReturnType<typeof startSteadyWriter>
  readonly reader?: ReturnType<typeof startPollingReader>
  readonly followers: readonly TeamFollower[]
}

/** Stops all of them, and expects: the reader saw no problem, the followers hold what was written, and the indices equal the topics. */
export async function expectNothingLost(
  pipeline: Pipeline,
  { front, writer, reader, followers }: Watched,
): Promise<void> {
  await writer.stop()
  await pipeline.produce('forms', [{ key: `${writer.team}/last`, value: null }])
  await pipeline.untilApplied(front, writer.team)
  if (reader !== undefined) {
    const seen = reader.answers()
    await eventually(() => reader.answers() > seen + 1)
    expect(await reader.stop()).toEqual([])
  }
  await eventually(() => followers.every(({ watermarkMs }) => watermarkMs > pipeline.appendedAtMs()))
  for (const follower of followers) {
    await follower.stop()
    expect(follower.items).toEqual(truthFor(follower, writer.journal.newest()))
    expect(follower).toMatchObject({ problems: [], expired: 0 })
  }
  expect((await runCommand('verify', [], pipeline.names)).stdout).toMatch(/^equal; /)
}
