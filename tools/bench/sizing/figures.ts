import type { Sizes } from './arithmetic.ts'

/** One line of what it comes to. */
export type Figure = { readonly what: string; readonly value: string; readonly from: string }

const gibibyte = 1024 ** 3
const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** Three digits that count, with the thousands apart. */
export const rounded = (value: number): string =>
  Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 })

/** In the unit that fits, each a thousand of the one before. */
export function bytes(value: number): string {
  const power = Math.min(Math.max(Math.floor(Math.log10(value) / 3), 0), units.length - 1)
  return `${rounded(value / 1_000 ** power)} ${units[power]}`
}

/** In seconds, minutes, hours or days. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${rounded(seconds)} s`
  if (seconds < 7_200) return `${rounded(seconds / 60)} min`
  return seconds < 172_800 ? `${rounded(seconds / 3_600)} h` : `${rounded(seconds / 86_400)} days`
}

/** All sizes as lines of a table, each with what it follows from. */
export function figuresOf({ documents, shards, load, nodes, kafka, redisBytes, rebuild, all }: Sizes): Figure[] {
  const figure = (what: string, value: string, from: string): Figure => ({ what, value, from })
  return [
    figure('list documents, once', bytes(documents.listBytes), 'submissions × their list bytes + forms × theirs'),
    figure('detail documents, once', bytes(documents.detailBytes), 'the same with detail bytes'),
    figure('with replicas', bytes(documents.storedBytes), '(list + detail) × (1 + replicas)'),
    figure(
      'disks of the data nodes',
      bytes(documents.diskBytes),
      'that × 2 while a rebuild holds both generations ÷ share that is filled',
    ),
    figure(
      '`INDEX_SHARDS`',
      String(shards.count),
      'bytes of the larger index ÷ mean shard, or submissions ÷ most documents',
    ),
    figure(
      'shards of the cluster',
      shards.copies.toLocaleString('en'),
      '4 indices × `INDEX_SHARDS` × (1 + replicas); twice during a rebuild',
    ),
    figure(
      'fullest shard',
      `${bytes(shards.fullestBytes)}, ${rounded(shards.fullestDocuments)} documents: ${shards.isFullestWithin ? 'within' : 'above'} the bounds`,
      'median of 25 placements of all teams at random',
    ),
    figure(
      'largest team',
      `${rounded(shards.largestTeam)} submissions, ${bytes(shards.largestTeamBytes)} in one shard`,
      'its share by the skew',
    ),
    figure(
      'team that fills a shard alone',
      `${rounded(shards.boundDocuments)} submissions`,
      'largest shard ÷ bytes of the larger document, or most documents',
    ),
    figure(
      'changes a second',
      `${rounded(load.changes)}; ${rounded(load.peakChanges)} in the busiest hour`,
      'submissions a day × changes ÷ 86,400',
    ),
    figure(
      'requests a second',
      `${rounded(load.requests)}; ${rounded(load.mostRequests)} if every key used up its 120 a minute`,
      'teams × keys × requests a minute ÷ 60',
    ),
    figure('of them pages', rounded(load.pages), 'the others are 304'),
    figure('vCPU for searching', rounded(nodes.searchCpus), 'pages × CPU of Elasticsearch'),
    figure(
      'vCPU for indexing',
      `${rounded(nodes.indexCpus)}; ${rounded(nodes.rebuildCpus)} more while a rebuild reads`,
      'busiest changes, or records of an indexer, × CPU of Elasticsearch × (1 + replicas)',
    ),
    figure(
      'page cache',
      bytes(nodes.cacheBytes),
      'list bytes with replicas × (search keys + rows that are read often)',
    ),
    figure(
      'data nodes',
      `${nodes.count} (disk ${nodes.byDisk}, memory ${nodes.byMemory}, CPU ${nodes.byCpu})`,
      'what needs most, and 3 at least',
    ),
    figure(
      'heap for shards on a node',
      bytes(nodes.heapOfShards),
      'shards during a rebuild × heap of a shard ÷ data nodes',
    ),
    figure(
      'API processes',
      String(load.apiProcesses),
      '(pages × their CPU + 304s × theirs) ÷ share of a vCPU; 2 at least',
    ),
    figure(
      'submissions topic, once',
      bytes(kafka.topicBytes),
      'submissions × record ÷ (1 − share that waits for compaction)',
    ),
    figure('disks of the brokers', bytes(kafka.diskBytes), 'that × copies'),
    figure(
      'partitions',
      `${kafka.partitions} (size ${kafka.bySize}, rate ${kafka.byRate})`,
      'topic ÷ largest partition, or busiest changes ÷ rate of one; 4 at least',
    ),
    figure(
      'indexers',
      String(kafka.indexers),
      'busiest changes ÷ (rate of one × share of a vCPU); 2 at least, no more than partitions',
    ),
    figure(
      'after an hour away',
      `${rounded(kafka.backlog)} records, ${duration(kafka.catchUpSeconds)}`,
      'busiest changes × 3,600 ÷ (indexers × rate − busiest changes)',
    ),
    figure(
      'full rebuild',
      `${rounded(rebuild.records)} records, ${duration(rebuild.seconds)}`,
      'records of the topic ÷ rate of one indexer; carrying over comes on top',
    ),
    figure(
      'lost indices built anew',
      duration(rebuild.anewSeconds),
      'the same ÷ indexers; start more, up to the partitions',
    ),
    figure('Redis', bytes(redisBytes), 'teams × (team + keys × (key + in use))'),
    figure(
      'network, pages',
      `${bytes(load.answerBytesPerSecond)}/s`,
      'pages × bytes; twice: Elasticsearch to API, API to clients',
    ),
    figure(
      'network, changes',
      `${bytes(kafka.recordBytesPerSecond)}/s`,
      'busiest changes × record; about as much again for each copy in Elasticsearch',
    ),
    figure(
      'altogether',
      `${rounded(all.cpus)} vCPU, ${rounded(all.memoryBytes / gibibyte)} GiB of memory, ${bytes(all.diskBytes)} of disk`,
      'data nodes, brokers, API, indexers, two Redis',
    ),
  ]
}
