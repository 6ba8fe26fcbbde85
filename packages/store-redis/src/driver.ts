import type { Buffer } from "node:buffer";

/** What a command may carry. */
export type Argument = string | Buffer;

/**
 * As many commands leave in one write. Fewer cost the client time, more let client and server wait for each other in turn.
 */
export const WRITE_TOGETHER = 16;

/** A script as the generated file holds it. */
export interface Script {
  readonly sha1: string;
  readonly lua: string;
}

/** How many replicas must confirm a write, and how long to wait for them. */
export interface WaitReplicas {
  readonly count: number;
  readonly timeoutMs: number;
}

/** A subscription of its own connection, kept up until it is closed. */
export interface Subscription {
  /** Settles when the first attempt to subscribe has succeeded or failed for good. */
  readonly ready: Promise<void>;
  close(): void;
}

/** Whom a subscription tells. */
export interface Subscriber {
  message(payload: string): void;
  /** Messages may have been missed: the subscription is lost, could not be restored yet, or was restored just now. */
  missed(): void;
  /** The caller has ended its client, and with it this subscription: else it would keep the process alive. */
  ended(): void;
}

/** What the store needs of a client library. Strings in replies are Buffers, since outcomes are bytes. */
export interface Driver {
  /** What the client puts before keys (but not before patterns and channels). */
  readonly keyPrefix: string;
  /** Runs a script that the server knows, `NOSCRIPT` if it doesn't. With `wait`, replies [reply, replicas]. */
  evalsha(script: Script, key: string, args: readonly Argument[], wait?: WaitReplicas): Promise<unknown>;
  /** The same with the script's text, which the server then knows. */
  eval(script: Script, key: string, args: readonly Argument[], wait?: WaitReplicas): Promise<unknown>;
  load(script: Script): Promise<unknown>;
  forgetScripts(): Promise<unknown>;
  ping(): Promise<unknown>;
  info(section: string): Promise<string>;
  /** A setting of the server; undefined when it has none of that name. */
  setting(name: string): Promise<string | undefined>;
  /** Full names of the keys that match, page by page, of all masters. */
  scan(pattern: string): AsyncIterable<string[]>;
  subscribe(channel: string, subscriber: Subscriber): Subscription;
}
