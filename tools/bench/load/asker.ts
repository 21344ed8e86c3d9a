export type Asker<Question> = {
  /** Asks all at once; settles when all are answered, and rejects when one is not. */
  ask(questions: readonly Question[]): Promise<void>
  close(): Promise<void>
}
