import type { Assumptions } from './assumptions.ts'
import { fullestShard, largestShare } from './placement.ts'

/** What it takes, in bytes, vCPU, records and requests a second, and seconds. */
export type Sizes = ReturnType<typeof sizesFor>
type Documents = ReturnType<typeof documentsOf>
type Shards = ReturnType<typeof shardsOf>
type Load = ReturnType<typeof loadOf>
type Nodes = ReturnType<typeof nodesOf>
type Kafka = ReturnType<typeof kafkaOf>

const gigabyte = 1e9
const terabyte = 1e12
const gibibyte = 1024 ** 3
const daySeconds = 86_400
const hourSeconds = 3_600
const mostRequestsPerMinute = 120
/** As many shards as `INDEX_SHARDS` allows. */
const mostShards = 1_024
const fewestNodes = 3
const fewestProcesses = 2
/** As many as are created when a topic is missing. */
const fewestPartitions = 4
/** What a data node needs beside heap and page cache. */
const otherGibibytes = 4
const apiGibibytes = 0.5
/** Redis has a second one beside it, and each may need its memory twice while it saves. */
const redisServers = 2

/** All sizes that follow from the assumptions. */
export function sizesFor(given: Assumptions) {
  const documents = documentsOf(given)
  const shards = shardsOf(given)
  const load = loadOf(given)
  const nodes = nodesOf(given, { documents, shards, load })
  const kafka = kafkaOf(given, load)
  const redisBytes = redisOf(given)
  const rebuild = rebuildOf(given, kafka)
  return {
    documents,
    shards,
    load,
    nodes,
    kafka,
    redisBytes,
    rebuild,
    all: allOf(given, { load, nodes, kafka, redisBytes }),
  }
}

function documentsOf(given: Assumptions) {
  const forms = given.teams * given.formsPerTeam
  const listBytes = given.submissions * given.listBytes + forms * given.formListBytes
  const detailBytes = given.submissions * given.detailBytes + forms * given.formDetailBytes
  const storedBytes = (listBytes + detailBytes) * (1 + given.replicas)
  // A rebuild holds both generations.
  return { listBytes, detailBytes, storedBytes, diskBytes: (2 * storedBytes) / given.fullDisk }
}

function shardsOf(given: Assumptions) {
  const { teams, skew, submissions, maxShardGigabytes, maxShardDocuments } = given
  const documentBytes = Math.max(given.listBytes, given.detailBytes)
  const bySize = Math.ceil((submissions * documentBytes) / (given.meanShardGigabytes * gigabyte))
  const byDocuments = Math.ceil(submissions / maxShardDocuments)
  const count = Math.min(Math.max(bySize, byDocuments), mostShards)
  const fullestDocuments = fullestShard(teams, skew, count) * submissions
  const largestTeam = largestShare(teams, skew) * submissions
  // Advice, not an end: a shard may hold more.
  const boundDocuments = Math.min((maxShardGigabytes * gigabyte) / documentBytes, maxShardDocuments)
  return {
    count,
    copies: 4 * count * (1 + given.replicas),
    fullestBytes: fullestDocuments * documentBytes,
    fullestDocuments,
    isFullestWithin: fullestDocuments <= boundDocuments,
    largestTeam,
    largestTeamBytes: largestTeam * documentBytes,
    boundDocuments,
  }
}

function loadOf(given: Assumptions) {
  const changes = (given.submissionsPerDay * given.changesPerSubmission) / daySeconds
  const peakChanges = changes * given.peakFactor
  const keys = given.teams * given.keysPerTeam
  const requests = (keys * given.requestsPerKeyMinute) / 60
  const unchanged = requests * given.unchangedShare
  const pages = requests - unchanged
  const apiCpus = (pages * given.answerApiMs + unchanged * given.unchangedApiMs) / 1_000 / given.busyCpu
  return {
    changes,
    peakChanges,
    keys,
    requests,
    mostRequests: (keys * mostRequestsPerMinute) / 60,
    pages,
    unchanged,
    apiProcesses: Math.max(fewestProcesses, Math.ceil(apiCpus)),
    answerBytesPerSecond: pages * given.answerBytes,
  }
}

function nodesOf(
  given: Assumptions,
  { documents, shards, load }: { documents: Documents; shards: Shards; load: Load },
) {
  const searchCpus = (load.pages * given.answerElasticsearchMs) / 1_000
  const cpusFor = (recordsPerSecond: number): number =>
    (recordsPerSecond * given.recordElasticsearchMs * (1 + given.replicas)) / 1_000
  const indexCpus = cpusFor(load.peakChanges)
  const rebuildCpus = cpusFor(given.recordsPerSecond)
  const cachedShare = given.searchKeyShare + (1 - given.searchKeyShare) * given.readRowsShare
  const cacheBytes = documents.listBytes * (1 + given.replicas) * cachedShare
  const cachePerNode = (given.nodeGibibytes - given.heapGibibytes - otherGibibytes) * gibibyte
  const byDisk = Math.ceil(documents.diskBytes / (given.nodeTerabytes * terabyte))
  const byMemory = Math.ceil(cacheBytes / cachePerNode)
  const byCpu = Math.ceil((searchCpus + indexCpus + rebuildCpus) / given.busyCpu / given.nodeCpus)
  const count = Math.max(fewestNodes, byDisk, byMemory, byCpu)
  return {
    searchCpus,
    indexCpus,
    rebuildCpus,
    cacheBytes,
    byDisk,
    byMemory,
    byCpu,
    count,
    /** While a rebuild holds both generations. */
    heapOfShards: (2 * shards.copies * given.shardHeapBytes) / count,
  }
}

function kafkaOf(given: Assumptions, { peakChanges }: Load) {
  const cleanBytes = given.submissions * given.recordBytes
  const topicBytes = cleanBytes / (1 - given.dirtyShare)
  const bySize = Math.ceil(topicBytes / (given.maxPartitionGigabytes * gigabyte))
  const byRate = Math.ceil(peakChanges / (given.partitionRecordsPerSecond * given.busyCpu))
  const partitions = Math.max(bySize, byRate, fewestPartitions)
  const indexers = Math.max(fewestProcesses, Math.ceil(peakChanges / (given.recordsPerSecond * given.busyCpu)))
  const backlog = peakChanges * hourSeconds
  return {
    topicBytes,
    diskBytes: topicBytes * given.topicReplication,
    bySize,
    byRate,
    partitions,
    indexers,
    backlog,
    catchUpSeconds: backlog / (indexers * given.recordsPerSecond - peakChanges),
    recordBytesPerSecond: peakChanges * given.recordBytes,
  }
}

const redisOf = (given: Assumptions): number =>
  given.teams * (given.teamBytes + given.keysPerTeam * (given.keyBytes + given.keyInUseBytes))

/** A rebuild is one process, indices that were lost are built by all indexers; both read all records that the topic still has. */
function rebuildOf(given: Assumptions, { topicBytes, indexers }: Kafka) {
  const records = topicBytes / given.recordBytes
  const seconds = records / given.recordsPerSecond
  return { records, seconds, anewSeconds: seconds / indexers }
}

function allOf(
  given: Assumptions,
  { load, nodes, kafka, redisBytes }: { load: Load; nodes: Nodes; kafka: Kafka; redisBytes: number },
) {
  return {
    cpus:
      nodes.count * given.nodeCpus +
      given.brokers * given.brokerCpus +
      load.apiProcesses +
      kafka.indexers +
      redisServers,
    memoryBytes:
      (nodes.count * given.nodeGibibytes + given.brokers * given.brokerGibibytes + load.apiProcesses * apiGibibytes) *
        gibibyte +
      kafka.indexers * given.indexerBytes +
      2 * redisServers * redisBytes,
    diskBytes: nodes.count * given.nodeTerabytes * terabyte + kafka.diskBytes / given.fullDisk,
  }
}
