// @ts-check

/**
 * How large an installation is, by arithmetic, for docs/scale.md and docs/scale/index.html. A classic script, because browsers load no module from
 * the file system; it defines `tidemarkScale`, in a browser and in Node.
 */

/** @typedef {import('./inputs.js').Numbers} Numbers */
/** @typedef {typeof tidemarkScale} Scale */
/** @typedef {(n: Numbers) => number} Quantity */

const docsPerShard = 200_000_000

/** @type {Quantity} */
const teams = (n) => Math.max(1, n.submissions / n.submissionsPerTeam)
/** @type {Quantity} */
const accountKeys = (n) => teams(n) * n.keysPerTeam

/**
 * The sum of 1 / n^skew over all ranks n of `count` teams; a fraction of a team counts as that fraction of the last term. From the thousandth rank
 * on it is the integral.
 * @param {number} count
 * @param {number} skew
 */
function sumOverRanks(count, skew) {
  let sum = 0
  for (let rank = 1; rank <= Math.min(1_000, Math.ceil(count)); rank++)
    sum += Math.min(1, count - rank + 1) * rank ** -skew
  if (count <= 1_000) return sum
  const [from, to] = [1_000.5, count + 0.5]
  return sum + (skew === 1 ? Math.log(to / from) : (to ** (1 - skew) - from ** (1 - skew)) / (1 - skew))
}

/** Submissions of the largest team. @type {Quantity} */
const largestTeam = (n) => n.submissions / sumOverRanks(teams(n), n.skew)

/** Bytes. @type {Quantity} */
const documents = (n) =>
  (n.submissions * (n.listBytes + n.detailBytes) + teams(n) * n.formsPerTeam * n.formBytes) * (1 + n.replicas)
/** Bytes; twice, because a rebuild builds the new generation beside the serving one. @type {Quantity} */
const disks = (n) => (documents(n) * 2 * 100) / n.usedDiskPercent
/** Bytes of the larger document of a submission. @type {Quantity} */
const largerDocument = (n) => Math.max(n.listBytes, n.detailBytes)
/** `INDEX_SHARDS`. @type {Quantity} */
const shards = (n) =>
  Math.max(
    1,
    Math.ceil((n.submissions * largerDocument(n)) / (n.shardGb * 1e9)),
    Math.ceil(n.submissions / docsPerShard),
  )
/** Bytes: a shard with the largest team and an equal part of the others. @type {Quantity} */
const fullestShard = (n) => largerDocument(n) * (largestTeam(n) + (n.submissions - largestTeam(n)) / shards(n))

/** In the busiest hour. @type {Quantity} */
const changesPerSecond = (n) =>
  (((n.submissions * n.newPercent) / 100) * n.changesPerSubmission * n.peakFactor) / 86_400
/** @type {Quantity} */
const requestsPerSecond = (n) => accountKeys(n) / n.pollSeconds
/** Requests that are not answered 304. @type {Quantity} */
const pagesPerSecond = (n) => requestsPerSecond(n) * (1 - n.unchangedPercent / 100)

/** Only primaries answer. @type {Quantity} */
const searchVcpu = (n) => (pagesPerSecond(n) * n.pageElasticsearchMs) / 1_000
/** vCPU of Elasticsearch for each record indexed a second: each copy indexes it. @type {Quantity} */
const recordVcpu = (n) => (n.indexElasticsearchMs * (1 + n.replicas)) / 1_000
/** @type {Quantity} */
const indexVcpu = (n) => changesPerSecond(n) * recordVcpu(n)
/** While a rebuild of one member reads. @type {Quantity} */
const rebuildVcpu = (n) => n.indexedPerSecond * recordVcpu(n)
/** Bytes of page cache. @type {Quantity} */
const pageCache = (n) =>
  n.submissions *
  (n.searchKeyBytes + (Math.max(0, n.listBytes - n.searchKeyBytes) * n.cachedPercent) / 100) *
  (1 + n.replicas)
/** @type {Quantity} */
const dataNodes = (n) =>
  Math.max(
    3,
    Math.ceil(pageCache(n) / (n.nodeMemoryGib * 2 ** 30)),
    Math.ceil(disks(n) / (n.nodeDiskTb * 1e12)),
    Math.ceil((searchVcpu(n) + indexVcpu(n) + rebuildVcpu(n)) / ((n.nodeVcpu * n.usedVcpuPercent) / 100)),
  )
/** Records a second for which Elasticsearch has CPU left. @type {Quantity} */
const indexablePerSecond = (n) => (dataNodes(n) * n.nodeVcpu - searchVcpu(n) - indexVcpu(n)) / recordVcpu(n)

/** Bytes on one broker. @type {Quantity} */
const topic = (n) => n.submissions * n.recordsPerSubmission * n.recordBytes
/** @type {Quantity} */
const partitions = (n) =>
  Math.max(4, Math.ceil(topic(n) / (n.partitionGb * 1e9)), Math.ceil(changesPerSecond(n) / n.indexedPerSecond))
/** @type {Quantity} */
const indexers = (n) => {
  const needed = Math.ceil(changesPerSecond(n) / ((n.indexedPerSecond * n.usedVcpuPercent) / 100))
  return Math.min(partitions(n), Math.max(2, needed))
}
/** @type {Quantity} */
const apiProcesses = (n) => {
  const unchanged = requestsPerSecond(n) - pagesPerSecond(n)
  const vcpu = (pagesPerSecond(n) * n.pageApiMs + unchanged * n.unchangedApiMs) / 1_000
  return Math.max(2, Math.ceil((vcpu * 100) / n.usedVcpuPercent))
}
/** Bytes. @type {Quantity} */
const redis = (n) => teams(n) * (n.teamBytes + n.keysPerTeam * n.keyBytes)
/** Bytes a second, into processes and out of them. @type {Quantity} */
const network = (n) => (pagesPerSecond(n) * n.pageBytes + changesPerSecond(n) * n.recordBytes) * 2

/**
 * Seconds in which processes index the topic, each of them partitions of its own.
 * @param {Numbers} n
 * @param {number} processes
 */
function readSeconds(n, processes) {
  const perSecond = n.indexedPerSecond * Math.min(processes, partitions(n))
  return (n.submissions * n.recordsPerSubmission) / Math.min(perSecond, indexablePerSecond(n))
}
/**
 * Seconds. All members read; then one of them compares the generations.
 * @param {Numbers} n
 * @param {number} members
 */
const rebuildSeconds = (n, members) => readSeconds(n, members) + n.submissions / n.comparedPerSecond
/**
 * Seconds.
 * @param {Numbers} n
 * @param {number} shares
 */
const verifySeconds = (n, shares) => n.submissions / (n.verifiedPerSecond * Math.min(shares, partitions(n)))
/** Seconds. @type {Quantity} */
const lostSeconds = (n) => readSeconds(n, indexers(n))
/** Seconds. @type {Quantity} */
const exportSeconds = (n) => largestTeam(n) / n.exportedPerSecond

/**
 * `words`: the formula. docs/scale.md has no minor rows, and main ones in bold.
 * @typedef {'number' | 'bytes' | 'seconds'} Kind
 * @typedef {'minor' | 'normal' | 'main'} Weight
 * @typedef {{ name: string, kind: Kind, of: Quantity, words: string, weight: Weight }} Row
 */

/**
 * @param {string} name
 * @param {Kind} kind
 * @param {Quantity} of
 * @param {string} words
 * @param {Weight} [weight]
 * @returns {Row}
 */
const row = (name, kind, of, words, weight = 'normal') => ({ name, kind, of, words, weight })

const loadRows = [
  row('teams', 'number', teams, 'submissions ÷ submissions of a team', 'minor'),
  row('largest team, submissions', 'number', largestTeam, 'submissions ÷ sum of 1 / n^s over all teams'),
  row('changes a second', 'number', changesPerSecond, 'new a day × changes × busiest hour ÷ 86,400', 'minor'),
  row('requests a second', 'number', requestsPerSecond, 'keys ÷ polling interval', 'minor'),
  row('pages a second', 'number', pagesPerSecond, 'requests that are not answered 304', 'minor'),
  row('network, a second', 'bytes', network, '(pages × bytes + changes × bytes) × 2: in and out', 'minor'),
]

const elasticsearchRows = [
  row('documents', 'bytes', documents, '(submissions × both + forms × theirs) × (1 + replicas)', 'minor'),
  row('disks of the data nodes', 'bytes', disks, 'documents × 2 (during a rebuild) ÷ used share'),
  row('`INDEX_SHARDS`', 'number', shards, 'larger index ÷ mean shard, or submissions ÷ 200 million'),
  row('fullest shard', 'bytes', fullestShard, 'larger document × (largest team + other submissions ÷ shards)'),
  row(
    'page cache',
    'bytes',
    pageCache,
    'submissions × (keys + share × rest of list document) × (1 + replicas)',
    'minor',
  ),
  row('vCPU for searching', 'number', searchVcpu, 'pages × CPU of Elasticsearch; only primaries answer', 'minor'),
  row('vCPU for changes', 'number', indexVcpu, 'changes × CPU of Elasticsearch × (1 + replicas)', 'minor'),
  row('vCPU for a rebuild', 'number', rebuildVcpu, 'indexed a second × CPU of Elasticsearch × (1 + replicas)', 'minor'),
  row('data nodes', 'number', dataNodes, 'most of cache ÷ memory, disks ÷ disk, vCPU ÷ used vCPU; at least 3', 'main'),
  row('indexable a second', 'number', indexablePerSecond, 'other vCPU of all nodes ÷ (CPU × (1 + replicas))', 'minor'),
]

const otherRows = [
  row('submissions topic', 'bytes', topic, 'submissions × records of each × bytes; on each of its brokers'),
  row('partitions', 'number', partitions, 'topic ÷ largest partition, or changes ÷ indexed a second; at least 4'),
  row('Redis', 'bytes', redis, 'teams × (team + keys × key)', 'minor'),
  row('API processes', 'number', apiProcesses, '(pages × CPU + 304s × CPU) ÷ used vCPU; at least 2', 'main'),
  row('indexers', 'number', indexers, 'changes ÷ (indexed a second × used vCPU); 2 to partitions', 'main'),
]

/**
 * All rows by their group.
 * @param {{ members: number, shares: number }} counts
 * @returns {Record<string, Row[]>}
 */
const rowsOf = ({ members, shares }) => ({
  Load: loadRows,
  Elasticsearch: elasticsearchRows,
  'Kafka, Redis, processes': otherRows,
  Duration: [
    ...upTo(members).map(rebuildRow),
    row('lost indices built anew', 'seconds', lostSeconds, 'reading of a rebuild, with a member for each indexer'),
    ...upTo(shares).map(verifyRow),
    row('largest team exported', 'seconds', exportSeconds, 'its submissions ÷ exported a second; summaries: half'),
  ],
})

/** 1, 2 and `most`. @param {number} most */
const upTo = (most) => [...new Set([1, 2, most])].filter((count) => count <= most)

/** @param {number} members */
function rebuildRow(members) {
  const words = 'records ÷ least of (indexed × members or partitions, indexable) + submissions ÷ compared'
  return row(`rebuild, ${counted(members, 'member')}`, 'seconds', (n) => rebuildSeconds(n, members), words, 'main')
}

/** @param {number} shares */
function verifyRow(shares) {
  const words = 'submissions ÷ (verified a second × shares, at most partitions)'
  return row(`verification, ${counted(shares, 'share')}`, 'seconds', (n) => verifySeconds(n, shares), words, 'main')
}

/**
 * @param {number} count
 * @param {string} noun
 */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The units of each kind, from the smallest; a value of at least `from` is written in that unit. */
const units = {
  number: [
    { from: 0, size: 1, unit: '' },
    { from: 1e6, size: 1e6, unit: ' million' },
  ],
  bytes: ['B', 'kB', 'MB', 'GB', 'TB', 'PB'].map((unit, at) => ({
    from: 1_000 ** at,
    size: 1_000 ** at,
    unit: ` ${unit}`,
  })),
  seconds: [
    { from: 0, size: 1, unit: ' s' },
    { from: 90, size: 60, unit: ' min' },
    { from: 5_400, size: 3_600, unit: ' h' },
    { from: 172_800, size: 86_400, unit: ' days' },
  ],
}

/**
 * The range of values as a text, such as `0.7 to 1.7 h`, in the unit of the largest; one value if both ends look alike.
 * @param {Kind} kind
 * @param {readonly number[]} values
 */
function textOf(kind, values) {
  const [lowest, highest] = [Math.min(...values), Math.max(...values)]
  const { size, unit } = units[kind].findLast(({ from }) => highest >= from) ?? { size: 1, unit: '' }
  const [from, to] = [shortText(lowest / size), shortText(highest / size)]
  if (from === to) return `${to}${unit}`
  return from.startsWith('below') ? `up to ${to}${unit}` : `${from} to ${to}${unit}`
}

/** At most three digits, thousands with commas. @param {number} value */
function shortText(value) {
  if (value > 0 && value < 0.05) return 'below 0.1'
  if (value < 9.95) return String(Math.round(value * 10) / 10)
  const rounded = value < 1_000 ? Math.round(value) : Number(value.toPrecision(3))
  return rounded.toLocaleString('en-US')
}

const tidemarkScale = { sumOverRanks, rowsOf, textOf }
Object.assign(globalThis, { tidemarkScale })
