/**
 * The part of your database's driver that the store needs, typed by its shape: then users may bring a pool, a connection or
 * a wrapper, and tests a server of their own. Here: a database of text documents with transactions on one document.
 */
export interface DocumentClient {
  /**
   * Reads the document, lets `change` decide, and stores what it returns, all in one atomic step. A database does this by a
   * script, a stored procedure, one conditional statement, or a transaction that locks the document.
   */
  update<Answer>(id: string, change: (document: string | null, server: Server) => Change<Answer>): Promise<Answer>;
  /** All documents, a few at a time. */
  scan(): AsyncIterable<{ readonly id: string; readonly document: string; readonly now: number }>;
  /** Calls `listener` after each change of the document, and when changes may have been missed. */
  subscribe(id: string, listener: () => void): Promise<() => void>;
}

/** What only the server may decide. */
export interface Server {
  /** Its clock, in milliseconds since the epoch. */
  readonly now: number;
  /** A number larger than every one before. */
  readonly next: () => number;
}

/** What to store, and what to answer. No `document`: nothing changes. Null: it is deleted. */
export interface Change<Answer> {
  readonly document?: string | null;
  readonly answer: Answer;
}
