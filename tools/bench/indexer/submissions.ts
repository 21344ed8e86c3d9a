import { busyTimes } from '../../demo/calendar.ts'
import { entityId, type Random, seededRandom } from '../../demo/random.ts'
import { renderReports } from '../reports.ts'
import { zipf } from '../search/zipf.ts'

/** A record of a topic of submissions. */
export type SubmissionRecord = { readonly key: string; readonly value: string; readonly id: string }

export type Submissions = {
  /** So many from many teams, in the order of created time. To be walked once. */
  past(count: number): Generator<SubmissionRecord>
  /** One more, created at that moment, of a team that is named or drawn as often as it is large. */
  next(createdMs: number, teamId?: string): SubmissionRecord
}

export const teams = 1_000
const teamExponent = 0.8
const seed = 'indexer'
/** Some moment: created times decide nothing but the order. */
const newestMs = Date.UTC(2026, 0, 1)
const windowDays = 300
/** So many that hardly two of the same stand in one compressed block. */
const distinctReports = 4_096
const essayBytes = 800
const sites = ['Hamburg', 'Osaka', 'São Paulo', '上海', 'Toronto', 'Nairobi']

type Report = Record<string, unknown> & { readonly examinee: object | null; readonly data: object }

let rendered: Report[] | undefined

/** Submissions of uneven teams, about 4 KB each: what quiz takers wrote and chose, who they are, and their full report. The same for the same seed. */
export function createSubmissions(ownSeed = seed): Submissions {
  const random = seededRandom(ownSeed)
  rendered ??= renderReports(seed, distinctReports, newestMs) as Report[]
  const reports = rendered
  const paragraphs = reports.flatMap(paragraphsOf)
  const byTeam = zipf(teams, teamExponent)
  let serialNumber = 0

  const next = (createdMs: number, teamId = `team_${byTeam.rankAt(random.float())}`): SubmissionRecord => {
    const id = entityId(random, createdMs)
    const at = new Date(createdMs).toISOString()
    const { examinee, data, ...report } = random.pick(reports)
    const submission = {
      ...report,
      id,
      serialNumber: ++serialNumber,
      submittedAt: at,
      updatedAt: at,
      examinee: examinee === null ? null : { ...examinee, customData: customData(random) },
      data: { ...data, essay: essay(random, paragraphs) },
    }
    return { id, key: `${teamId}/${id}`, value: JSON.stringify({ revision: 1, submission }) }
  }

  function* past(count: number): Generator<SubmissionRecord> {
    const timeOf = busyTimes(newestMs, windowDays)
    for (let index = 0; index < count; index++) yield next(timeOf((index + random.float()) / count))
  }

  return { past, next }
}

const customData = (random: Random): object => ({
  employeeNumber: 10_000 + random.below(90_000),
  costCentre: `CC-${random.text('0123456789', 6)}`,
  site: random.pick(sites),
  badge: { level: 1 + random.below(5), tags: random.shuffled(['on-site', 'night shift', 'mentor']).slice(0, 2) },
})

function essay(random: Random, paragraphs: readonly string[]): string {
  let text = random.pick(paragraphs)
  while (Buffer.byteLength(text) < essayBytes) text += `\n\n${random.pick(paragraphs)}`
  return text
}

function paragraphsOf({ reportResult }: Report): string[] {
  const { aiSuggestion } = (reportResult ?? {}) as { aiSuggestion?: { content?: string | null } | null }
  return (aiSuggestion?.content ?? '').split('\n\n').filter((paragraph) => paragraph !== '')
}
