import { Client } from '@elastic/elasticsearch'
import type { Pipeline } from '../support/pipeline.ts'
import type { Program } from '../support/programs.ts'
import { Appender } from './appender.ts'
import { SentJournal } from './journal.ts'
import { PollingReader } from './pollingReader.ts'
import { Problems } from './problems.ts'
import { SteadyWriter } from './steadyWriter.ts'
import { Watcher } from './watcher.ts'

type LiveWriter = ReturnType<typeof startSteadyWriter>

/** Writes one team's submissions at a steady rate until stopped: new revisions, late ones, deletions. */
export function startSteadyWriter(
  pipeline: Pick<Pipeline, 'kafka' | 'names'>,
  { team, ...how }: { team: string; seed: number; perSecond: number },
) {
  const journal = new SentJournal()
  const over = new AbortController()
  const appender = new Appender(pipeline.kafka, journal, pipeline.names, over.signal)
  const writer = new SteadyWriter(appender, team, how)
  let failure: unknown
  writer.start((error) => {
    failure = error
  })
  const end = async (): Promise<void> => {
    await writer.pause()
    await appender.close()
  }
  return {
    ...{ team, journal, entries: appender.entries },
    written: () => appender.entries.length,
    /** Stops writing; resolves once everything is appended. */
    stop: async (): Promise<void> => {
      await end()
      if (failure !== undefined) throw failure
    },
    /** Stops at once, even if Kafka does not answer. */
    abandon: async (): Promise<void> => {
      over.abort()
      await end()
    },
  }
}

/** Polls the list of a steady writer and collects problems; every answer must be 200. */
export function startPollingReader(
  pipeline: Pick<Pipeline, 'keyOf'>,
  { url }: Pick<Program, 'url'>,
  { journal, team, entries }: LiveWriter,
) {
  const problems = new Problems(journal)
  const reader = new PollingReader(journal, problems, team, entries)
  reader.endFaults()
  const over = new AbortController()
  const running = reader.run([{ url }], pipeline.keyOf(team), over.signal)
  return {
    answers: () => reader.answers,
    /** Stops; resolves with the problems. */
    stop: async (): Promise<readonly string[]> => {
      over.abort()
      await running
      return problems.found
    },
  }
}

export const checkerTeam = 'checker'

/** Writes steadily during faults, and checks answers, watermark and commits. The team must have a key already. */
export async function startConsistencyChecker(pipeline: Pipeline, api: Program) {
  const writer = startSteadyWriter(pipeline, { team: checkerTeam, seed: 1, perSecond: 10 })
  const { journal, entries } = writer
  const problems = new Problems(journal)
  const reader = new PollingReader(journal, problems, checkerTeam, entries)
  reader.beginFaults()
  const admin = pipeline.kafka.admin({ retry: { retries: 0 } })
  await admin.connect()
  const elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '', maxRetries: 0 })
  const watcher = new Watcher(journal, problems, { elasticsearch, admin, names: pipeline.names })
  const over = new AbortController()
  const key = pipeline.keyOf(checkerTeam)
  const running = [reader.run([api], key, over.signal), watcher.run(api, key, over.signal)]
  return {
    /** Broken promises, and errors not due to an outage. */
    problems: (): readonly string[] => problems.found,
    /** The number of checks so far. */
    checks: () => ({ answers: reader.answers, commits: watcher.looks }),
    stop: async (): Promise<void> => {
      over.abort()
      await writer.abandon()
      await Promise.all(running)
      await Promise.all([admin.disconnect(), elasticsearch.close()])
    },
  }
}
