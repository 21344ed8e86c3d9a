import { partitionName, type TopicPartition } from '../../../../src/core/kafka/sourceRecord.ts'
import type { Host } from '../../network.ts'
import { type ErrorCode, Group, type JoinRequest, refusal, type SyncRequest } from './group.ts'
import type { ByTopic, Topics } from './topics.ts'

type Commit = TopicPartition & { readonly offset: string; readonly metadata: string | null }

type InGroup = { readonly groupId: string }
type CommitRequest = {
  readonly groupId: string
  readonly memberId: string
  readonly groupGenerationId: number
  readonly topics: ByTopic<{ readonly offset: { toString(): string }; readonly metadata?: string | null }>
}

/** The coordinator of all groups, with their committed offsets. */
export class Coordinator {
  readonly #host: Host
  readonly #topics: Topics
  readonly #groups = new Map<string, Group>()
  /** Group → partition → commit. */
  readonly #commits = new Map<string, Map<string, Commit>>()

  constructor(host: Host, topics: Topics) {
    this.#host = host
    this.#topics = topics
  }

  group(groupId: string): Group {
    const known = this.#groups.get(groupId)
    if (known !== undefined) return known
    const group = new Group(this.#host, groupId)
    this.#groups.set(groupId, group)
    return group
  }

  committed(groupId: string): Commit[] {
    return [...(this.#commits.get(groupId)?.values() ?? [])]
  }

  /** Answers a group request; `apiName`: its name in the protocol. */
  answer(apiName: string, request: unknown): unknown {
    switch (apiName) {
      case 'OffsetCommit':
        return this.#commit(request as CommitRequest)
      case 'OffsetFetch':
        return this.#committedOffsets(request as InGroup & { topics: ByTopic<unknown> })
      case 'JoinGroup':
        return this.group((request as InGroup).groupId).join(request as InGroup & JoinRequest)
      case 'SyncGroup':
        return this.group((request as InGroup).groupId).sync(request as InGroup & SyncRequest)
      case 'Heartbeat': {
        const { groupId, memberId, groupGenerationId } = request as CommitRequest
        return { errorCode: this.group(groupId).heartbeat(memberId, groupGenerationId) }
      }
      case 'LeaveGroup': {
        const { groupId, memberId } = request as CommitRequest
        return { errorCode: this.group(groupId).leave(memberId), members: [] }
      }
      case 'DescribeGroups': {
        const { groupIds } = request as { groupIds: readonly string[] }
        const groups = groupIds.map((groupId) => ({ errorCode: 0, groupId, ...this.group(groupId).describe() }))
        return { groups }
      }
      default:
        throw new Error(`the simulated Kafka cannot answer ${apiName}`)
    }
  }

  #commit({ groupId, memberId, groupGenerationId, topics }: CommitRequest): unknown {
    const refused = this.group(groupId).mayCommit(memberId, groupGenerationId)
    const commits = this.#commits.get(groupId) ?? new Map<string, Commit>()
    this.#commits.set(groupId, commits)
    const commit = (topic: string, request: CommitRequest['topics'][number]['partitions'][number]): ErrorCode => {
      const { partition, offset, metadata = null } = request
      if (refused !== refusal.none) return refused
      if (this.#topics.find({ topic, partition }) === undefined) return refusal.unknownTopicOrPartition
      commits.set(partitionName({ topic, partition }), { topic, partition, offset: String(offset), metadata })
      return refusal.none
    }
    const responses = topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map((requested) => ({
        partition: requested.partition,
        errorCode: commit(topic, requested),
      })),
    }))
    return { responses }
  }

  #committedOffsets({ groupId, topics }: InGroup & { readonly topics: ByTopic<unknown> }): unknown {
    const commits = this.#commits.get(groupId)
    const responses = topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map(({ partition }) => {
        const { offset = '-1', metadata = '' } = commits?.get(partitionName({ topic, partition })) ?? {}
        return { partition, offset, metadata, errorCode: refusal.none }
      }),
    }))
    return { responses, errorCode: refusal.none }
  }
}
