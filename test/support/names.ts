import { randomUUID } from 'node:crypto'
import {
  type DocumentKind,
  definitionOf,
  type PhysicalIndex,
  physicalName,
} from '../../src/core/elasticsearch/indices.ts'

/** Unique names of topics, group and index prefix for one test, as environment settings. */
export function ownNames() {
  const id = `test-${randomUUID().slice(0, 8)}`
  return {
    INDEX_PREFIX: id,
    CONSUMER_GROUP: `${id}-indexer`,
    TOPIC_FORMS: `${id}-forms`,
    TOPIC_SUBMISSIONS: `${id}-submissions`,
    TOPIC_ACCOUNT_KEYS: `${id}-account-keys`,
    TOPIC_DEAD_LETTERS: `${id}-dead-letters`,
    TOPIC_KEY_AUDIT: `${id}-account-key-audit`,
  }
}

/** The name of the physical index of a kind in this release, by default of generation 1. */
export const indexName = async (prefix: string, kind: DocumentKind, generation = 1): Promise<PhysicalIndex> =>
  physicalName(prefix, kind, definitionOf(kind, true).version, generation)
