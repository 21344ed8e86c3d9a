import type { Host } from '../../network.ts'

type GroupProtocol = { readonly name: string; readonly metadata: Buffer }

export type JoinRequest = {
  readonly memberId: string
  readonly sessionTimeout: number
  readonly rebalanceTimeout: number
  readonly groupProtocols: readonly GroupProtocol[]
}
type JoinAnswer = {
  readonly errorCode: ErrorCode
  readonly generationId: number
  readonly groupProtocol: string
  readonly leaderId: string
  readonly memberId: string
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[]
}
export type SyncRequest = {
  readonly memberId: string
  readonly generationId: number
  readonly groupAssignment: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[]
}
type GroupMemberAnswer = { readonly memberId: string; readonly clientHost: string; readonly memberAssignment: Buffer }
type SyncAnswer = { readonly errorCode: ErrorCode; readonly memberAssignment: Buffer }

type Member = {
  readonly id: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  protocol: GroupProtocol
  assignment: Buffer
  /** Answers the pending JoinGroup request. */
  joined: ((answer: JoinAnswer) => void) | undefined
  /** Answers the pending SyncGroup request. */
  synced: ((answer: SyncAnswer) => void) | undefined
  endSession: () => void
}

const noAssignment = Buffer.alloc(0)

/** A consumer group at its coordinator: members, and the current generation of assignments. */
export class Group {
  readonly #host: Host
  readonly #name: string
  readonly #members = new Map<string, Member>()
  /** Ids given to members that have not yet joined with them → a function that cancels the wait. */
  readonly #announced = new Map<string, () => void>()
  #state: 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' = 'Empty'
  #generation = 0
  #leader = ''
  #stopRebalanceTimer = (): void => undefined

  constructor(host: Host, name: string) {
    this.#host = host
    this.#name = name
  }

  join(request: JoinRequest): JoinAnswer | Promise<JoinAnswer> {
    const { memberId } = request
    if (memberId === '') return this.#announce(request)
    const known = this.#members.get(memberId)
    if (known === undefined && !this.#announced.has(memberId))
      return { ...this.#joinAnswer(memberId), errorCode: refusal.unknownMemberId }
    const protocol = chosen(request)
    // A member that rejoins unchanged gets its answer again; but if the leader rejoins, partitions may have been added.
    if (known?.protocol.metadata.equals(protocol.metadata) && this.#isAnswered(memberId))
      return this.#joinAnswer(memberId)
    const member = known ?? this.#add(request)
    member.protocol = protocol
    member.endSession()
    const { promise, resolve } = Promise.withResolvers<JoinAnswer>()
    member.joined = resolve
    if (this.#state === 'PreparingRebalance') this.#endRebalanceIfJoined()
    else this.rebalance()
    return promise
  }

  sync({ memberId, generationId, groupAssignment }: SyncRequest): SyncAnswer | Promise<SyncAnswer> {
    const member = this.#members.get(memberId)
    const errorCode = this.#fenced(memberId, generationId)
    if (member === undefined || errorCode !== refusal.none) return { errorCode, memberAssignment: noAssignment }
    if (this.#state === 'PreparingRebalance')
      return { errorCode: refusal.rebalanceInProgress, memberAssignment: noAssignment }
    this.#startSession(member)
    if (this.#state === 'Stable') return { errorCode, memberAssignment: member.assignment }
    member.endSession()
    const { promise, resolve } = Promise.withResolvers<SyncAnswer>()
    member.synced = resolve
    if (memberId === this.#leader) this.#assign(groupAssignment)
    return promise
  }

  heartbeat(memberId: string, generationId: number): ErrorCode {
    const errorCode = this.#fenced(memberId, generationId)
    if (errorCode !== refusal.none) return errorCode
    this.#renewSession(memberId)
    return this.#state === 'PreparingRebalance' ? refusal.rebalanceInProgress : refusal.none
  }

  /** The error of a commit, if any. While a rebalance waits for members, those of the old generation may still commit. */
  mayCommit(memberId: string, generationId: number): ErrorCode {
    const errorCode = this.#fenced(memberId, generationId)
    if (errorCode !== refusal.none) return errorCode
    if (this.#state === 'CompletingRebalance') return refusal.rebalanceInProgress
    this.#renewSession(memberId)
    return refusal.none
  }

  leave(memberId: string): ErrorCode {
    if (this.#announced.has(memberId)) {
      this.#forgetAnnounced(memberId)
      this.#endRebalanceIfJoined()
      return refusal.none
    }
    if (!this.#members.has(memberId)) return refusal.unknownMemberId
    this.#remove(memberId)
    return refusal.none
  }

  /** Expires all sessions, as a coordinator does after a pause longer than the session timeout. */
  endSessions(): void {
    for (const id of [...this.#members.keys()]) this.#remove(id)
  }

  /** Starts a rebalance: all members must rejoin. */
  rebalance(): void {
    if (this.#state === 'PreparingRebalance') return
    for (const member of this.#members.values()) {
      member.synced?.({ errorCode: refusal.rebalanceInProgress, memberAssignment: noAssignment })
      if (member.synced !== undefined) this.#startSession(member)
      member.synced = undefined
      member.assignment = noAssignment
    }
    const isFirst = this.#state === 'Empty'
    this.#state = 'PreparingRebalance'
    if (isFirst) {
      this.#endRebalance()
      return
    }
    const longestMs = Math.max(0, ...[...this.#members.values()].map(({ rebalanceTimeoutMs }) => rebalanceTimeoutMs))
    this.#stopRebalanceTimer = this.#host.after(longestMs, `${this.#name}: end of the rebalance`, () =>
      this.#endRebalance(),
    )
    this.#endRebalanceIfJoined()
  }

  describe(): { readonly state: string; readonly members: readonly GroupMemberAnswer[] } {
    const members = [...this.#members.values()].map(({ id, assignment }) => ({
      memberId: id,
      clientHost: '/127.0.0.1',
      memberAssignment: this.#state === 'Stable' ? assignment : noAssignment,
    }))
    return { state: this.#state, members }
  }

  #fenced(memberId: string, generationId: number): ErrorCode {
    if (!this.#members.has(memberId)) return refusal.unknownMemberId
    return generationId === this.#generation ? refusal.none : refusal.illegalGeneration
  }

  /** Whether JoinGroup of this member can be answered without a rebalance. */
  #isAnswered(memberId: string): boolean {
    return this.#state === 'CompletingRebalance' || (this.#state === 'Stable' && memberId !== this.#leader)
  }

  #announce({ sessionTimeout }: JoinRequest): JoinAnswer {
    const memberId = `member-${this.#host.random().toString(16).slice(2)}`
    const giveUp = this.#host.after(sessionTimeout, `${this.#name}: ${memberId} did not join`, () => {
      this.#announced.delete(memberId)
      this.#endRebalanceIfJoined()
    })
    this.#announced.set(memberId, giveUp)
    return { ...this.#joinAnswer(memberId), errorCode: refusal.memberIdRequired }
  }

  #forgetAnnounced(memberId: string): void {
    this.#announced.get(memberId)?.()
    this.#announced.delete(memberId)
  }

  #add(request: JoinRequest): Member {
    const member: Member = {
      id: request.memberId,
      sessionTimeoutMs: request.sessionTimeout,
      rebalanceTimeoutMs: request.rebalanceTimeout,
      protocol: chosen(request),
      assignment: noAssignment,
      joined: undefined,
      synced: undefined,
      endSession: () => undefined,
    }
    this.#forgetAnnounced(member.id)
    this.#members.set(member.id, member)
    return member
  }

  #remove(memberId: string): void {
    this.#members.get(memberId)?.endSession()
    this.#members.delete(memberId)
    if (this.#state === 'PreparingRebalance') this.#endRebalanceIfJoined()
    else this.rebalance()
  }

  #renewSession(memberId: string): void {
    const member = this.#members.get(memberId)
    // A member with a pending JoinGroup or SyncGroup sends no heartbeats.
    if (member !== undefined && member.joined === undefined && member.synced === undefined) this.#startSession(member)
  }

  #startSession(member: Member): void {
    member.endSession()
    const what = `${this.#name}: session of ${member.id} ends`
    member.endSession = this.#host.after(member.sessionTimeoutMs, what, () => this.#remove(member.id))
  }

  #endRebalanceIfJoined(): void {
    if (this.#state !== 'PreparingRebalance' || this.#announced.size > 0) return
    if ([...this.#members.values()].every(({ joined }) => joined !== undefined)) this.#endRebalance()
  }

  /** Begins the next generation, without members that have not rejoined. */
  #endRebalance(): void {
    this.#stopRebalanceTimer()
    for (const { id, joined, endSession } of [...this.#members.values()]) {
      if (joined !== undefined) continue
      endSession()
      this.#members.delete(id)
    }
    this.#generation += 1
    this.#state = this.#members.size === 0 ? 'Empty' : 'CompletingRebalance'
    if (!this.#members.has(this.#leader)) this.#leader = [...this.#members.keys()][0] ?? ''
    for (const member of this.#members.values()) {
      member.joined?.(this.#joinAnswer(member.id))
      member.joined = undefined
      this.#startSession(member)
    }
  }

  #joinAnswer(memberId: string): JoinAnswer {
    const members = [...this.#members.values()]
    return {
      errorCode: refusal.none,
      generationId: this.#generation,
      groupProtocol: members[0]?.protocol.name ?? '',
      leaderId: this.#leader,
      memberId,
      members:
        memberId === this.#leader
          ? members.map(({ id, protocol }) => ({ memberId: id, memberMetadata: protocol.metadata }))
          : [],
    }
  }

  #assign(groupAssignment: SyncRequest['groupAssignment']): void {
    const assigned = new Map(groupAssignment.map(({ memberId, memberAssignment }) => [memberId, memberAssignment]))
    this.#state = 'Stable'
    for (const member of this.#members.values()) {
      member.assignment = assigned.get(member.id) ?? noAssignment
      if (member.synced === undefined) continue
      member.synced({ errorCode: refusal.none, memberAssignment: member.assignment })
      member.synced = undefined
      this.#startSession(member)
    }
  }
}

function chosen({ groupProtocols }: JoinRequest): GroupProtocol {
  const [first] = groupProtocols
  if (first === undefined) throw new Error('a member supports no protocol')
  return first
}

/** Error codes of the Kafka protocol. */
export const refusal = {
  none: 0,
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  illegalGeneration: 22,
  unknownMemberId: 25,
  rebalanceInProgress: 27,
  topicAlreadyExists: 36,
  memberIdRequired: 79,
} as const

export type ErrorCode = (typeof refusal)[keyof typeof refusal]
