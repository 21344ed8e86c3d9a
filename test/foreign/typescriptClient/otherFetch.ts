/** The type of a `fetch` from a package, whose classes are not the global ones. */
export declare function fetch(
  url: string | { readonly href: string },
  init?: {
    headers?: Record<string, string> | [string, string][]
    redirect?: 'follow' | 'manual'
    signal?: AbortSignal
  },
): Promise<Answer>

declare class Answer {
  readonly status: number
  readonly headers: Map<string, string> & { get(name: string): string | null }
  readonly body: OtherStream | null
}

declare class OtherStream {
  getReader(): {
    read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: undefined }>
    releaseLock(): void
  }
}
