/** What this package needs of an answer of `fetch`. */
export interface FetchAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: { getReader(): BodyReader } | null
}

export interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
}

/** What this package needs of `fetch`. */
export type Fetch = (
  url: string,
  init: {
    readonly headers: Record<string, string>
    readonly redirect: 'manual'
    readonly signal: AbortSignal
  },
) => Promise<FetchAnswer>
