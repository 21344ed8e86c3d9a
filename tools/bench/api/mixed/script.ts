import type { Random } from '../../../demo/random.ts'
import { untilNeverAsked } from '../lists.ts'

/** What a script of a team knows to begin with. */
export type PollingTeam = {
  readonly id: string
  readonly accountKey: string
  /** What it looks at again and again. */
  readonly submissionIds: readonly string[]
  readonly formIds: readonly string[]
  /** What it looks for in titles. */
  readonly typed: readonly string[]
  readonly takesGzip: boolean
}

const repeated = {
  'submissions, page 1': 35,
  'submissions, changedSince': 30,
  'forms, page 1': 10,
  'one submission': 10,
  'one form': 5,
  'forms by title': 10,
}
/** Of the team, with all it has; the question alone is new. */
export const asNeverBefore = 'submissions, as never before'
export type PollKind = keyof typeof repeated | typeof asNeverBefore
export const pollKinds = [...Object.keys(repeated), asNeverBefore] as PollKind[]

/** How often scripts ask for what. */
export type Habits = {
  readonly weights: Readonly<Partial<Record<PollKind, number>>>
  /** How many of the requests name the ETag of the team's last answer from the same address. */
  readonly conditionalShare: number
}
/** Scripts that are written with care. */
export const careful: Habits = { weights: repeated, conditionalShare: 0.7 }
/** 30 % new questions; of the others, which are asked again and again, some name an ETag. */
export const usual: Habits = { weights: { ...repeated, [asNeverBefore]: (100 * 30) / 70 }, conditionalShare: 0.1 }
/** Requests without an ETag to name are made up for later, but not more than so many. */
const mostOwed = 5
const limit = 20

export type Poll = { readonly kind: PollKind; readonly path: string; readonly etag?: string }

/** What a script reads in an answer. */
export type Answer = {
  readonly status: number
  readonly etag: string | undefined
  readonly watermark: string | undefined
  /** Whether it is a list without a row. */
  readonly isEmpty: boolean
}

export type Script = { next(): Poll; hear(poll: Poll, answer: Answer): void }

/** What one team asks, one poll after the other: the same addresses again and again, and windows from the watermark it was told last. */
export function pollingScript(team: PollingTeam, { weights, conditionalShare }: Habits, random: Random): Script {
  const etags = new Map<string, string>()
  let owed = random.float()
  let changedSince: string | undefined

  const pathOf = (kind: PollKind): string => {
    switch (kind) {
      case 'submissions, page 1':
        return listPath('records', {})
      case 'submissions, changedSince':
        return listPath('records', changedSince === undefined ? {} : { changedSince })
      case 'forms, page 1':
        return listPath('forms', {})
      case 'one submission':
        return `/api/v1/records/${random.pick(team.submissionIds)}`
      case 'one form':
        return `/api/v1/forms/${random.pick(team.formIds)}`
      case 'forms by title':
        return listPath('forms', { titleContains: random.pick(team.typed) })
      case asNeverBefore:
        return listPath('records', { until: untilNeverAsked() })
    }
  }
  return {
    next: () => {
      const drawn = pollKinds[random.weighted(pollKinds.map((kind) => weights[kind] ?? 0))] ?? 'submissions, page 1'
      // A script that was told no watermark yet reads the list from its beginning.
      const kind = drawn === 'submissions, changedSince' && changedSince === undefined ? 'submissions, page 1' : drawn
      const path = pathOf(kind)
      const etag = etags.get(path)
      owed = Math.min(owed + conditionalShare, mostOwed)
      if (etag === undefined || owed < 1) return { kind, path }
      owed -= 1
      return { kind, path, etag }
    },
    hear: ({ kind, path }, { status, etag, watermark, isEmpty }) => {
      if (status !== 200) return
      if (etag !== undefined) etags.set(path, etag)
      if (kind !== 'submissions, changedSince') changedSince ??= watermark
      // As long as a window is empty it is asked for again; what it brings moves it on.
      else if (!isEmpty && watermark !== undefined && path === pathOf(kind)) {
        etags.delete(path)
        changedSince = watermark
      }
    },
  }
}

const listPath = (what: 'records' | 'forms', query: Readonly<Record<string, string>>): string =>
  `/api/v1/${what}?${new URLSearchParams({ ...query, limit: String(limit) })}`
