// @ts-check

/**
 * Assumptions and costs for the arithmetic of scale.js. A classic script, because browsers load no module from the file system; it defines
 * `tidemarkInputs`, in a browser and in Node.
 */

/** @typedef {typeof tidemarkInputs} Inputs */
/** @typedef {Record<keyof typeof assumptions | keyof typeof costs | 'submissions', number>} Numbers */

/** What is assumed, or was measured once. `value` has the unit that ends the name. */
const assumptions = {
  submissionsPerTeam: { group: 'Teams', label: 'submissions of a team, on average', value: 100_000, min: 1 },
  skew: { group: 'Teams', label: 'skew s: the n-th largest team in proportion to 1 / n^s', value: 0.8, min: 0, max: 3 },
  formsPerTeam: { group: 'Teams', label: 'forms of a team', value: 200 },
  keysPerTeam: { group: 'Teams', label: 'account keys of a team', value: 2, max: 10 },

  newPercent: { group: 'Load', label: 'new submissions a day, % of all', value: 0.1, max: 100 },
  changesPerSubmission: { group: 'Load', label: 'changes of a new submission', value: 3, min: 1 },
  peakFactor: { group: 'Load', label: 'busiest hour, times the mean', value: 5, min: 1, max: 24 },
  pollSeconds: { group: 'Load', label: 'a key polls every, seconds', value: 10, min: 0.5 },
  unchangedPercent: { group: 'Load', label: 'answers that are 304, %', value: 70, max: 100 },

  replicas: { group: 'Elasticsearch', label: 'replicas', value: 1, max: 2, step: 1 },
  nodeVcpu: { group: 'Elasticsearch', label: 'vCPU of a data node', value: 8, min: 1 },
  nodeMemoryGib: { group: 'Elasticsearch', label: 'memory of a data node without heap, GiB', value: 48, min: 1 },
  nodeDiskTb: { group: 'Elasticsearch', label: 'disk of a data node, TB', value: 4, min: 0.01 },
  usedVcpuPercent: { group: 'Elasticsearch', label: 'used of a vCPU at most, %', value: 50, min: 1, max: 100 },
  usedDiskPercent: { group: 'Elasticsearch', label: 'used of a disk at most, %', value: 80, min: 1, max: 100 },
  /** https://www.elastic.co/guide/en/elasticsearch/reference/current/size-your-shards.html advises 10 to 50 GB. */
  shardGb: { group: 'Elasticsearch', label: 'mean shard, GB', value: 20, min: 1 },
  /** A guess: the newest rows of each team. */
  cachedPercent: { group: 'Elasticsearch', label: 'rows that are read often, %', value: 10, max: 100 },

  /** https://kafka.apache.org/documentation/#topicconfigs_min.cleanable.dirty.ratio: half of a log may wait for compaction. */
  recordsPerSubmission: { group: 'Kafka', label: 'records of a submission in the topic', value: 2, min: 1 },
  /** Kafka moves a partition to another broker as a whole. */
  partitionGb: { group: 'Kafka', label: 'partition at most, GB', value: 100, min: 1 },

  members: { group: 'Processes', label: 'members of a rebuild', value: 4, min: 1, step: 1 },
  shares: { group: 'Processes', label: 'shares of a verification', value: 4, min: 1, step: 1 },

  /** 28 November 2026, generated submissions of 3 KB; in Kafka and in answers uncompressed. */
  listBytes: { group: 'Bytes', label: 'list document of a submission', value: 811 },
  /** 22 November 2026. */
  searchKeyBytes: { group: 'Bytes', label: 'its search keys', value: 116 },
  detailBytes: { group: 'Bytes', label: 'detail document of a submission', value: 965 },
  /** 980 + 1,130; 22 November 2026. */
  formBytes: { group: 'Bytes', label: 'documents of a form', value: 2_110 },
  recordBytes: { group: 'Bytes', label: 'submission in Kafka', value: 3_090 },
  pageBytes: { group: 'Bytes', label: 'page of 20 submissions', value: 15_600 },
  /** 842, and 300 once it is in use; 22 November 2026. */
  keyBytes: { group: 'Bytes', label: 'account key in Redis', value: 1_142 },
  /** 22 November 2026. */
  teamBytes: { group: 'Bytes', label: 'team in Redis', value: 224 },
}

/** Where the costs were measured: `values` of each cost are in this order. Both machines have two cores, which clients and engines share. */
const machines = [
  { name: 'faster machine', date: '28 November 2026' },
  { name: 'slower machine', date: '27 November 2026' },
]

/**
 * CPU time and rates, by machine: medians of tools/bench/results. After a change here, `npm run schemas` writes the tables of docs/scale.md.
 */
const costs = {
  /** *-indexer.md, "What each took". */
  indexElasticsearchMs: { label: 'record, CPU of Elasticsearch, ms', values: [0.0917, 0.232] },
  /** *-indexer.md, "From Kafka to searchable". */
  indexedPerSecond: { label: 'records indexed a second', values: [11_300, 4_630] },
  /** *-api.md, "16 at once", limit=20. */
  pageElasticsearchMs: { label: 'page, CPU of Elasticsearch, ms', values: [1.57, 3.47] },
  pageApiMs: { label: 'page, CPU of the API, ms', values: [0.539, 1.39] },
  /** *-api.md, "304 for an unchanged list". */
  unchangedApiMs: { label: '304, CPU of the API, ms', values: [0.064, 0.208] },
  /** *-api.md, "Exports as NDJSON", `view=full`. */
  exportedPerSecond: { label: 'submissions exported a second', values: [29_700, 9_630] },
  /** The comparison of a rebuild's generations, by the leader alone. */
  comparedPerSecond: { label: 'submissions compared a second', values: [15_000, 5_300] },
  /** *-indexer.md, "Commands over all 300,000 submissions". */
  verifiedPerSecond: { label: 'submissions verified a second', values: [2_420, 917] },
}

/**
 * All numbers of an installation, as measured on one machine.
 * @param {number} submissions
 * @param {number} machine an index of `machines`
 * @param {Partial<Numbers>} [own] instead of the assumptions and costs
 * @returns {Numbers}
 */
function numbersOf(submissions, machine, own = {}) {
  const assumed = Object.entries(assumptions).map(([id, { value }]) => [id, value])
  const measured = Object.entries(costs).map(([id, { values }]) => [id, values[machine]])
  return { ...Object.fromEntries([...assumed, ...measured]), submissions, ...own }
}

const tidemarkInputs = { assumptions, machines, costs, numbersOf }
Object.assign(globalThis, { tidemarkInputs })
