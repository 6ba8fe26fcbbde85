/** What the server tells the page: types only, so that both can import them. */

/** All frameworks. */
export const frameworks = ["express", "fastify", "hono"] as const;
/** The framework that serves the same routes. */
export type Framework = (typeof frameworks)[number];

/** All stores. */
export const storeKinds = ["memory", "pglite", "redis", "postgres"] as const;
/** Where records are kept. */
export type StoreKind = (typeof storeKinds)[number];

/** The service, and its twin that nothing protects: both get the same requests. */
export type Side = "with" | "without";

/** The two service processes. */
export type Instance = "A" | "B";

/** Something of Onceward that happened to a request. */
export interface Mark {
  readonly at: number;
  readonly type: string;
}

/** One request through the balancer, from its arrival to its answer. Times are milliseconds since the epoch. */
export interface RequestTrace {
  readonly id: string;
  readonly run?: string | undefined;
  readonly side: Side;
  readonly framework: Framework;
  readonly instance: Instance;
  readonly method: string;
  readonly path: string;
  /** Masked. */
  readonly key?: string | undefined;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly status?: number | undefined;
  /** `gave-up`: the client left first. `cut-off`: the process died. */
  readonly fate: "open" | "answered" | "gave-up" | "cut-off";
  readonly marks: readonly Mark[];
}

/** An event of Onceward, as the feed shows it. */
export interface FeedEvent {
  readonly at: number;
  readonly type: string;
  readonly instance: Instance;
  readonly request?: string | undefined;
  readonly run?: string | undefined;
  readonly id?: string | undefined;
  readonly operation?: string | undefined;
  /** Masked. */
  readonly key?: string | undefined;
  readonly detail: string;
  /** How old the outcome was, when it was replayed. */
  readonly ageMs?: number | undefined;
}

/** What really happened in the world: a record was created, a mail "sent". */
export interface Effect {
  readonly id: string;
  readonly at: number;
  readonly kind: "record" | "mail";
  readonly what: string;
  readonly side: Side;
  readonly instance: Instance;
  readonly run?: string | undefined;
}

/** One performance of a scene. */
export interface Run {
  readonly id: string;
  readonly scene: string;
  readonly framework: Framework;
  readonly store: StoreKind;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly state: "running" | "done" | "failed";
  readonly error?: string | undefined;
  /** What the scene itself did: cut a wire, killed a process. */
  readonly notes: readonly { readonly at: number; readonly text: string }[];
}

/** A scene as the page introduces it. */
export interface SceneCard {
  readonly id: string;
  readonly title: string;
  /** What goes wrong in the world, in a sentence or two. */
  readonly story: string;
  /** What to look at when it is over. */
  readonly moral: string;
  /** Who starts the requests: the server, or the visitor who clicks in the page. */
  readonly by: "server" | "visitor";
  /** What is counted: "leads created". */
  readonly counts: string;
}

/** A store as the page offers it. */
export interface StoreChoice {
  readonly kind: StoreKind;
  readonly available: boolean;
  /** Where it comes from, or what to do to have it. */
  readonly note: string;
}

/** What is known of the store's content. */
export interface StoreStats {
  readonly size: number;
  readonly running: number;
  /** How many records are so old, youngest first. */
  readonly ages: readonly { readonly label: string; readonly count: number }[];
}

/** What the page needs besides the feed. */
export interface Status {
  readonly store: StoreKind;
  /** While a store is being started, and when that failed. */
  readonly storeNote?: string | undefined;
  readonly stores: readonly StoreChoice[];
  readonly wire: "whole" | "cut";
  readonly instances: Readonly<Record<Instance, { readonly pid?: number | undefined; readonly alive: boolean }>>;
  /** Where each framework can be reached with curl. */
  readonly addresses: Readonly<Record<Framework, string>>;
}

/** A record as the operator's panel lists it. */
export interface OperatorRecord {
  readonly id: string;
  readonly token: string;
  readonly state: "running" | "abandoned" | "completed";
  readonly label?: string | undefined;
  readonly attempt: number;
  readonly fence: number;
  readonly claimedAt: number;
  readonly expiresAt: number;
  readonly leaseRemainingMs: number;
  readonly steps: readonly string[];
}

/** A message of the feed (Server-Sent Events, one JSON each). */
export type FeedMessage =
  | { readonly type: "hello"; readonly scenes: readonly SceneCard[] }
  | { readonly type: "status"; readonly status: Status }
  | { readonly type: "stats"; readonly stats: StoreStats }
  | { readonly type: "request"; readonly request: RequestTrace }
  | { readonly type: "event"; readonly event: FeedEvent }
  | { readonly type: "effect"; readonly effect: Effect }
  | { readonly type: "run"; readonly run: Run };
