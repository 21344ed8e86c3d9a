/** The answers of a broker that refuse something, by their codes in the protocol. */
export const refusal = {
  none: 0,
  offsetOutOfRange: 1,
  unknownTopicOrPartition: 3,
  messageTooLarge: 10,
  illegalGeneration: 22,
  unknownMemberId: 25,
  rebalanceInProgress: 27,
  topicAlreadyExists: 36,
  memberIdRequired: 79,
  invalidRecord: 87,
} as const

export type ErrorCode = (typeof refusal)[keyof typeof refusal]
