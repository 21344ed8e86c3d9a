import type { Mutant } from './mutants.ts'

const publisher = 'indexer/progressPublisher.ts'
const positions = 'src/core/redis/visiblePositions.ts'
const changes = 'src/api/changes.ts'

/** Plausible bugs of positions and of the change feed, each of which loses a change for a follower, or promises one too early. */
export const feedMutants: Readonly<Record<string, Mutant>> = {
  'positions-before-the-refresh': {
    themes: ['delays'],
    seed: 1,
    file: publisher,
    from: `    await this.#makeSearchable(ranges)
    // 4. Clients see the progress.
    const published = await this.#publishVisible(progress, ranges)`,
    to: `    const published = await this.#publishVisible(progress, ranges)
    await this.#makeSearchable(ranges)`,
  },
  'positions-of-what-was-not-refreshed': {
    themes: ['delays'],
    seed: 1,
    file: publisher,
    from: `from: partition.visible.from,
        to: position,`,
    to: `from: partition.visible.from,
        to: partition.offsets.progress().position,`,
  },
  'tokens-before-their-positions': {
    themes: ['redis', 'delays'],
    seed: 9,
    file: publisher,
    from: '    const published = await this.#options.publishVisible({\n      lists: listChange.lists,',
    to: '    await this.#options.publishVisible({ lists, changesEveryList: false, partitions: [], ranges })\n    const published = await this.#options.publishVisible({\n      lists: [],',
  },
  'positions-by-the-last-writer': {
    themes: ['freezes', 'groups'],
    seed: 1,
    file: positions,
    from: 'if raise(key, partition, ARGV[at + 3]) < tonumber(ARGV[at + 2]) then changeEveryList() end',
    to: "if raise(key, partition, ARGV[at + 3]) < tonumber(ARGV[at + 2]) then changeEveryList() end redis.call('HSET', key, partition, ARGV[at + 3])",
  },
  'no-salt-after-a-lost-publication': {
    themes: ['redis', 'crashes'],
    seed: 1,
    file: positions,
    from: '< tonumber(ARGV[at + 2]) then changeEveryList() end',
    to: '< 0 then changeEveryList() end',
  },
  'lists-ahead-of-their-position-forgotten': {
    themes: ['contract', 'failing-document'],
    seed: 1,
    file: publisher,
    from: '[...new Set([...this.#refreshed, ...changed])]',
    to: '[...this.#refreshed]',
  },
  'positions-across-gaps': {
    themes: ['rebuild', 'generations'],
    seed: 1,
    file: 'indexer/publishedPosition.ts',
    from: 'return this.#endAtStart !== undefined && position >= this.#endAtStart && position >= this.#gapBelow',
    to: 'return true',
  },
  'a-walk-without-a-target': {
    themes: ['groups'],
    seed: 20,
    file: changes,
    from: 'return [{ version, since }, openWalk]',
    to: 'return [{ version, since }, { ...openWalk, target: offsets }]',
  },
  'deletions-left-out-of-walks': {
    themes: ['groups'],
    seed: 1,
    file: changes,
    from: 'hasDeletions: !isFirst',
    to: 'hasDeletions: false',
  },
  'cursors-go-on-though-deletions-are-missing': {
    themes: ['forgotten-deletions'],
    seed: 1,
    file: 'indexer/generations/switchOver.ts',
    from: 'const cursorKeys = goesOn ? from.cursorKeys : { forms: newCursorKey(), submissions: newCursorKey() }',
    to: 'const cursorKeys = from.cursorKeys',
  },
}
