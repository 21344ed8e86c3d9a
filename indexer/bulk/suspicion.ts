import type { DocumentKind } from '../../src/core/stores/indices.ts'

/** A document must fail before and after another one of its index was written, */
const minFailures = 2
/** and be tried for so long without success, before its record is given up. */
const minMs = 60_000

/** How often and since when Elasticsearch has failed at one document while others of its index were written. */
export type Suspicion = {
  readonly kind: DocumentKind
  readonly sinceMs: number
  readonly failures: number
  /** How many documents of its index were written when it failed last. */
  readonly written: number
}

/** Tells a document that Elasticsearch always fails at from an index that it cannot write at the moment. */
export class Suspicions {
  readonly #written = new Map<DocumentKind, number>()

  /** Notes a document that was stored. */
  noteWritten(kind: DocumentKind): void {
    this.#written.set(kind, (this.#written.get(kind) ?? 0) + 1)
  }

  /** What is held against a document after one more failure. Failures between which nothing of its index was written count once. */
  after(before: Suspicion | undefined, kind: DocumentKind, nowMs: number): Suspicion {
    const written = this.#written.get(kind) ?? 0
    if (before?.kind !== kind) return { kind, sinceMs: nowMs, failures: 1, written }
    return { ...before, failures: before.failures + (written > before.written ? 1 : 0), written }
  }
}

/** What is held against another state of an entity: it must fail by itself, too, but the time counts from the first state that did. */
export const ofAnotherState = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion && { ...suspicion, failures: 0 }

/** Whether the document is at fault, and not its index. */
export const isConfirmed = ({ failures, sinceMs }: Suspicion, nowMs: number): boolean =>
  failures >= minFailures && nowMs - sinceMs >= minMs
