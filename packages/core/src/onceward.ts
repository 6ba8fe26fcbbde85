import { type Context, unprotectedContext } from "./context.ts";
import { Engine } from "./engine.ts";
import { InvalidOptionError, KeyInvalidError, KeyMissingError, NestedRunError } from "./errors.ts";
import type { EventName, EventOf } from "./events.ts";
import { decode, execute } from "./execute.ts";
import type { Operation } from "./execution.ts";
import { anyFingerprint, fingerprint, givenFingerprint } from "./fingerprint.ts";
import { maskKey, recordId } from "./keys.ts";
import {
  type Check,
  checkOptions,
  durationOrZeroMs,
  functionOr,
  type OncewardOptions,
  overridePolicy,
  type Policy,
  type PolicyOptions,
  policyChecks,
  resolveOptions,
  text,
  withMethods,
} from "./options.ts";
import { andThen, asyncHooks, type MaybePromise } from "./runtime.ts";
import type { ListFilter, StoredRecord } from "./store.ts";

/** Names an operation: for whom, what, and the caller's key for it. */
export interface OperationName {
  /** What must happen once. Required unless `scope` is given. */
  readonly operation?: string | undefined;
  /** Whose key it is: keys never meet across scopes. */
  readonly scope?: string | undefined;
  /** The caller's name for this one operation; 1 to 1,024 characters. */
  readonly key?: string | null | undefined;
}

/** What was asked for. */
export interface Asked {
  /** As plain data or bytes: the same key with another payload is a conflict. */
  readonly payload?: unknown;
  /** Your own hash of it, instead of `payload`. */
  readonly fingerprint?: string | undefined;
}

/** How operators name a record. What was asked for matters only where it is part of the name: `separate`, `derive`. */
export interface RecordQuery extends OperationName, Asked, Pick<PolicyOptions, "onReuse" | "missingKey"> {}

/** What `run` is asked for. */
export interface RunRequest<Value> extends OperationName, Asked, PolicyOptions {
  /** Aborts when the caller has gone: it then stops waiting. Work that runs already is not stopped. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the value is worth keeping; if not, the next attempt runs. Default: always. */
  readonly keep?: ((value: Value) => boolean) | undefined;
  /**
   * Asked instead of the work when a former runner died: finds out whether it did the work. Return its value as
   * `{ value }`, or undefined when the work was not done and shall run now.
   */
  readonly reconcile?: ((context: Context) => Promise<{ readonly value: Value } | undefined>) | undefined;
}

/** What `run` resolves to. */
export interface RunResult<Value> {
  /** The same for the first caller and for every replay. */
  readonly value: Value;
  /** True when this call did not do the work itself. */
  readonly replayed: boolean;
}

/** Options of `wrap`: the operation, and how to find the rest in the arguments. */
export interface WrapOptions<Args extends readonly unknown[], Value>
  extends PolicyOptions,
    Pick<RunRequest<Value>, "keep" | "reconcile"> {
  /** Required: function names don't survive minifiers. */
  readonly operation: string;
  /** Finds the key in the arguments; for a call without one, see `missingKey`. */
  readonly key: (...args: Args) => string | null | undefined;
  /** Whose key it is; a function that finds nothing is an error, not a scope for all. */
  readonly scope?: string | ((...args: Args) => string) | undefined;
  /** What makes two calls the same. Default: all arguments. */
  readonly payload?: ((...args: Args) => unknown) | undefined;
}

/** Runs work once, and gives every duplicate the first result. */
export interface Onceward {
  /** Runs the work, or replays what it returned before under the same key. */
  run<Value>(request: RunRequest<Value>, work: (context: Context) => Value | Promise<Value>): Promise<RunResult<Value>>;
  /** The same function, safe to call again. */
  wrap<Args extends readonly unknown[], Value>(
    work: (...args: Args) => Value | Promise<Value>,
    options: WrapOptions<Args, Value>,
  ): (...args: Args) => Promise<Value>;
  /** Listens to one kind of event, or to all of them with `"*"`. Returns the function that ends it. */
  on<Name extends EventName>(name: Name | "*", listener: (event: EventOf<Name>) => void): () => void;
  /** For operators: the record of a key, or null. */
  find(name: RecordQuery): Promise<StoredRecord | null>;
  /** For operators: lets the next attempt run now, keeping recorded steps. The present runner, if it lives, can't complete. */
  release(name: RecordQuery): Promise<boolean>;
  /** For operators: forgets the record. The next call with this key runs. */
  remove(name: RecordQuery): Promise<boolean>;
  /** For operators: what is running, stuck (`abandoned`) or completed. */
  list(filter?: ListFilter): AsyncIterable<StoredRecord>;
  /** Lets running work end, for at most `drainMs` (default 5,000), then closes the store. */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
  /** What bindings build on. */
  readonly engine: Engine;
}

const queryChecks = {
  operation: text,
  scope: text,
  key: () => undefined,
  payload: () => undefined,
  fingerprint: text,
  onReuse: policyChecks.onReuse,
  missingKey: policyChecks.missingKey,
} satisfies Record<keyof RecordQuery, Check>;

const requestChecks = {
  ...queryChecks,
  signal: withMethods("an AbortSignal", "addEventListener"),
  keep: functionOr(() => "nothing"),
  reconcile: functionOr(() => "nothing"),
  ...policyChecks,
} satisfies Record<keyof RunRequest<unknown>, Check>;

const wrapChecks = {
  ...policyChecks,
  operation: text,
  key: functionOr(() => "nothing"),
  scope: functionOr(text),
  payload: functionOr(() => "nothing"),
  keep: functionOr(() => "nothing"),
  reconcile: functionOr(() => "nothing"),
} satisfies Record<keyof WrapOptions<[], unknown>, Check>;

/** The runs that this code is inside of. One for all instances: each such storage slows down every promise of the process. */
const insideOf = asyncHooks && new asyncHooks.AsyncLocalStorage<readonly Frame[]>();

interface Frame {
  readonly id: string;
  readonly owner: Engine;
  /** What the work leaves behind (a timer, a connection) is inside of it for ever, but has nothing to wait for any more. */
  over: boolean;
}

/** Makes an Onceward on a store. Options are checked here: a wrong one throws `InvalidOptionError`. */
export function onceward(options: OncewardOptions): Onceward {
  const engine = new Engine(resolveOptions(options));
  const { store, namespace, policy: defaultPolicy } = engine.options;
  const running = engine.options.detectNesting ? insideOf : undefined;

  async function run<Value>(
    request: RunRequest<Value>,
    work: (context: Context) => Value | Promise<Value>,
  ): Promise<RunResult<Value>> {
    checkOptions("run", request, requestChecks);
    const policy = overridePolicy(defaultPolicy, request);
    const identified = identify(request, policy);
    const operation = identified instanceof Promise ? await identified : identified;
    if (!operation) return { value: await work(unprotectedContext()), replayed: false };
    const outer = running?.getStore();
    if (outer?.some(({ id, owner, over }) => !over && id === operation.id && owner === engine)) {
      throw new NestedRunError(
        "run was called inside the work of the very same operation and key, and would wait for itself. Use another key for the inner part",
      );
    }
    const entry = await engine.enter(operation, policy, request.signal);
    if (entry.kind === "replay") return { value: decode<Value>(entry.outcome), replayed: true };
    if (!running) return await execute(entry.execution, request, work);
    const frame = { id: operation.id, owner: engine, over: false };
    const inner = outer ? [...outer.filter(({ over }) => !over), frame] : [frame];
    try {
      return await running.run(inner, execute<Value>, entry.execution, request, work);
    } finally {
      frame.over = true;
    }
  }

  /** At once where hashes come at once: waiting for nothing costs every request. */
  function identify(request: RecordQuery, policy: Policy): MaybePromise<Operation | undefined> {
    const { operation, scope } = request;
    if (operation === undefined && scope === undefined) {
      throw new InvalidOptionError(
        "A name needs an operation (what must happen once), a scope (whose key it is), or both",
      );
    }
    // Nothing is hashed for a call that nothing protects.
    if ((request.key ?? undefined) === undefined && policy.missingKey === "run") return undefined;
    const asked =
      request.fingerprint === undefined
        ? fingerprint(engine.hash, request.payload)
        : givenFingerprint(engine.hash, request.fingerprint);
    return andThen(asked, (print) => nameOf(request, print, policy));
  }

  function nameOf(request: RecordQuery, asked: string, policy: Policy): MaybePromise<Operation> {
    const { operation, scope } = request;
    const key = request.key ?? (policy.missingKey === "derive" ? asked : undefined);
    if (key === undefined) {
      throw new KeyMissingError(
        `A key is required for ${operation ?? scope}: give each operation a key of its own, and retries the same`,
      );
    }
    checkKey(key);
    const separate = policy.onReuse === "separate" ? asked : undefined;
    const named = recordId(engine.hash, { namespace, scope, operation, key, fingerprint: separate });
    const compared = policy.onReuse === "replay" ? anyFingerprint : asked;
    return andThen(named, (id) => ({ id, operation, scope, key, fingerprint: compared }));
  }

  async function idOf(name: RecordQuery): Promise<string> {
    checkOptions("a record's name", name, queryChecks);
    const policy = overridePolicy(defaultPolicy, { onReuse: name.onReuse, missingKey: name.missingKey });
    // Without a key there is no record, and so no name for one.
    const missingKey = policy.missingKey === "run" ? "reject" : policy.missingKey;
    return ((await identify(name, { ...policy, missingKey })) as Operation).id;
  }

  return {
    engine,
    run,
    wrap(work, wrapOptions) {
      checkOptions("wrap", wrapOptions, wrapChecks);
      const { operation, key, scope, payload, ...rest } = wrapOptions;
      if (!operation)
        throw new InvalidOptionError("wrap: operation is required; function names don't survive minifiers");
      if (!key) throw new InvalidOptionError("wrap: key is required, a function that finds the key in the arguments");
      return async (...args) => {
        const request = {
          ...rest,
          operation,
          key: key(...args),
          // A function that finds nothing must not put everybody into one scope.
          scope: typeof scope === "function" ? (scope(...args) ?? "") : scope,
          payload: payload ? payload(...args) : args,
        };
        return (await run(request, () => work(...args))).value;
      };
    },
    on: (name, listener) => engine.events.on(name, listener),
    async find(name) {
      return store.find(await idOf(name));
    },
    async release(name) {
      const id = await idOf(name);
      const record = await store.find(id);
      return record !== null && store.release(id, record.token);
    },
    async remove(name) {
      return store.remove(await idOf(name));
    },
    list(filter = {}) {
      if (!store.list) throw new InvalidOptionError("list: this store can't list its records");
      return store.list(filter);
    },
    async close({ drainMs = 5_000 } = {}) {
      checkOptions("close", { drainMs }, { drainMs: durationOrZeroMs });
      await engine.close(drainMs);
    },
  };
}

function checkKey(key: unknown): void {
  if (typeof key !== "string" || key.length < 1 || key.length > 1_024) {
    const found = typeof key === "string" ? `${key.length} characters (${maskKey(key)})` : `a ${typeof key}`;
    throw new KeyInvalidError(`A key must be a string of 1 to 1,024 characters; this is ${found}`);
  }
}
