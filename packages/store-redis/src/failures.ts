import { OncewardError, StoreRejectedError, StoreUnavailableError } from "@onceward/core";

/** The server answered, but can't serve now: trying again may help. */
const PASSING =
  /\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|OOM|MISCONF|NOREPLICAS|BUSY|UNKILLABLE|max number of clients)\b/;
/** What to do about errors that no repetition cures. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /ONCEWARD_CORRUPT/,
    "A value under the store's prefix is not a record; look at it, then `remove` the id or choose another prefix",
  ],
  [/WRONGTYPE/, "A foreign value has the name of a record; choose another `prefix`, or delete that key"],
  [
    /WRONGPASS|NOAUTH|invalid password|unauthenticated/,
    "Redis doesn't accept the client's credentials; check its username and password",
  ],
  [
    /NOPERM|user executing the script can't|ACL failure in script/,
    "The Redis user lacks a permission; it needs the commands, keys and channels that the README lists",
  ],
  [/\bMOVED\b/, "This server is part of a Redis Cluster; make the client with `new Cluster(...)`"],
  [/invalid bulk length|string exceeds maximum/, "The outcome is larger than the server takes (proto-max-bulk-len)"],
  [/unknown command/i, "The server is too old: Redis 6.2 or later, or Valkey, is needed"],
];

/** Whether the server has forgotten the script, or never knew it. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/** Whether the server itself has answered with this error, so that it is known that the command changed nothing. */
export function isReply(error: unknown): boolean {
  // Replies begin with a code in capitals; errors of sockets and client libraries are sentences.
  return error instanceof Error && /^[A-Z][A-Z_]+ /.test(error.message);
}

/** What the store's caller is told of an error that the client gave. */
export function translate(error: unknown): OncewardError {
  if (error instanceof OncewardError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (!isReply(error)) return new StoreUnavailableError(`Redis can't be reached: ${message}`, { cause: error });
  if (PASSING.test(message)) return new StoreUnavailableError(`Redis can't serve now: ${message}`, { cause: error });
  const remedy = REMEDIES.find(([pattern]) => pattern.test(message))?.[1] ?? "Redis refused the command";
  return new StoreRejectedError(`${remedy}: ${message}`, { cause: error });
}
