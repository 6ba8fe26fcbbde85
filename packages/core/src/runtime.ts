/**
 * What differs between runtimes. Node's builtins are asked for at run time, not imported, so that edge bundles carry no
 * Node-only import; where they are missing, web standards serve.
 */
type NodeCrypto = typeof import("node:crypto");
type NodeBuffer = typeof import("node:buffer");
type AsyncHooks = typeof import("node:async_hooks");

interface ProcessLike {
  versions?: { node?: string };
  getBuiltinModule?: (id: string) => unknown;
}

function builtin<Module>(id: string): Module | undefined {
  const process = (globalThis as { process?: ProcessLike }).process;
  return process?.getBuiltinModule?.(id) as Module | undefined;
}

/** Several times faster than WebCrypto for small inputs, and synchronous. */
export const nodeCrypto = builtin<NodeCrypto>("node:crypto");
/** Counts and converts text several times faster than the web's encoders. */
export const nodeBuffer = builtin<NodeBuffer>("node:buffer")?.Buffer;
/** For the detection of a run inside itself. */
export const asyncHooks = builtin<AsyncHooks>("node:async_hooks");
/** Since Node 24, the engine itself carries what is in an `AsyncLocalStorage`; before, hooks on every promise do. */
export const asyncContextIsFree =
  Number.parseInt(String((globalThis as { process?: ProcessLike }).process?.versions?.node), 10) >= 24;

/** A value now, or later where the runtime only has asynchronous crypto. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Goes on with the value, at once if it is there. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Monotonic, in milliseconds: leases and waits are measured on it, so that a jump of the wall clock ends none. */
export const monotonicNow = (): number => performance.now();

/** A timer that does not keep the process alive. */
export function startTimer(milliseconds: number, fire: () => void): () => void {
  // Past 2^31 - 1 a timer would fire at once; nobody waits that long in one piece.
  const timer = setTimeout(fire, Math.min(Math.max(milliseconds, 0), 2_147_483_647)) as unknown;
  // A number where there is no Node.
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer as never);
}

/** Resolves after a while; the wait does not keep the process alive. */
export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void startTimer(milliseconds, resolve));

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder();

/**
 * Bytes for what lives no longer than a request. On Node out of a shared pool: an ArrayBuffer of its own for each outcome
 * cost a new request 2 µs of 18, in the garbage collector.
 */
export const shortLivedBytes = (length: number): Uint8Array =>
  nodeBuffer ? nodeBuffer.allocUnsafe(length) : new Uint8Array(length);

/** The text's bytes, for no longer than a request. */
export const encodeText = (text: string): Uint8Array => (nodeBuffer ? nodeBuffer.from(text) : utf8.encode(text));

/** The text of UTF-8 bytes. */
export const decodeText = (bytes: Uint8Array): string =>
  nodeBuffer ? nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : utf8Decoder.decode(bytes);
