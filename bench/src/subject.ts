/** What the benchmarks' servers are reached by. */
export interface Places {
  readonly redisUrl?: string;
  readonly postgresUrl?: string;
}

/** What a client asks for. */
export interface Payload {
  readonly customer: string;
  readonly amount: number;
  readonly note: string;
}

/** The protected work. */
export type Work = (payload: Payload) => Promise<unknown>;

/** One way to do a piece of work once. */
export interface Subject {
  /** One request: does the work, or gives its former result. Rejects when the key was used for another payload. */
  request(key: string, payload: Payload): Promise<unknown>;
  /** Expired records are removed, where that takes a call. */
  sweep?(limit: number): Promise<number>;
  /** The store was emptied: nothing is known any more. */
  forget?(): void;
  close(): Promise<void>;
}

/** Makes a subject around the work. */
export type MakeSubject = (work: Work, places: Places) => Promise<Subject>;

/** A payload whose JSON has about that many bytes. */
export function payloadOf(bytes: number, filler = "x"): Payload {
  const bare = { customer: "customer-4711", amount: 4_200, note: "" };
  return { ...bare, note: filler.repeat(Math.max(0, bytes - JSON.stringify(bare).length)) };
}

/** As long as a UUID, and a new one for each number. */
export function keyOf(series: string, number: number): string {
  return `${series}-${String(number).padStart(35 - series.length, "0")}`;
}

export const ttlMs = 24 * 3_600_000;
