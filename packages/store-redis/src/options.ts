import { InvalidOptionError } from "@onceward/core";
import type { RedisClient } from "./client.ts";
import type { Driver, WaitReplicas } from "./driver.ts";
import { ioredisDriver, isIoredis } from "./ioredis-driver.ts";
import { isNodeRedis, nodeRedisDriver } from "./node-redis-driver.ts";

/** What both stores of this package share. */
export interface CommonOptions {
  /** Begins the names of all keys and channels. @defaultValue `onceward:` */
  readonly prefix?: string | undefined;
  /** How long a call may take before it is given up as `StoreUnavailableError`. @defaultValue 2,000 */
  readonly timeoutMs?: number | undefined;
}

/** Options of `redisStore`. */
export interface RedisStoreOptions extends CommonOptions {
  /** Yours to open and to close: an ioredis `Redis` or `Cluster`, or a client of node-redis. */
  readonly client: RedisClient;
  /**
   * Claims and outcomes count only when so many replicas have them, so that they survive a failover. Each costs the time
   * of the replication; when the replicas don't confirm in time, the call fails as `StoreUnavailableError`.
   */
  readonly waitReplicas?: WaitReplicas | undefined;
}

/** Options of `redisQuorumStore`. */
export interface RedisQuorumStoreOptions extends CommonOptions {
  /** One for each independent server: 3, 5 or any odd number above. */
  readonly clients: readonly RedisClient[];
}

const DEFAULT_PREFIX = "onceward:";
const DEFAULT_TIMEOUT_MS = 2_000;
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** {@link RedisStoreOptions}, checked and complete. */
export function resolveOptions(options: RedisStoreOptions) {
  const where = "redisStore";
  refuseUnknown(where, options, ["client", "prefix", "timeoutMs", "waitReplicas"]);
  const { waitReplicas } = options;
  if (waitReplicas !== undefined) {
    refuseUnknown(`${where}: waitReplicas`, waitReplicas, ["count", "timeoutMs"]);
    requireWhole(`${where}: waitReplicas.count`, waitReplicas.count);
    requireWhole(`${where}: waitReplicas.timeoutMs`, waitReplicas.timeoutMs);
  }
  const common = resolveCommon(where, options);
  if (waitReplicas !== undefined && waitReplicas.timeoutMs >= common.timeoutMs) {
    throw new InvalidOptionError(`${where}: waitReplicas.timeoutMs must be less than timeoutMs (${common.timeoutMs}).`);
  }
  return { ...common, driver: driverOf(`${where}: client`, options.client), waitReplicas };
}

/** {@link RedisQuorumStoreOptions}, checked and complete. */
export function resolveQuorumOptions(options: RedisQuorumStoreOptions) {
  const where = "redisQuorumStore";
  refuseUnknown(where, options, ["clients", "prefix", "timeoutMs"]);
  const { clients } = options;
  if (!Array.isArray(clients) || clients.length < 3 || clients.length % 2 === 0) {
    throw new InvalidOptionError(`${where}: clients must be an array of 3, 5 or another odd number of clients.`);
  }
  if (new Set(clients).size < clients.length) {
    throw new InvalidOptionError(`${where}: clients has one client twice; each must be of another server.`);
  }
  const drivers = clients.map((client: RedisClient, index) => driverOf(`${where}: clients[${index}]`, client));
  return { ...resolveCommon(where, options), drivers };
}

function resolveCommon(where: string, { prefix = DEFAULT_PREFIX, timeoutMs = DEFAULT_TIMEOUT_MS }: CommonOptions) {
  if (typeof prefix !== "string" || !/^[A-Za-z0-9:._/-]{1,100}$/.test(prefix)) {
    throw new InvalidOptionError(
      `${where}: prefix must be 1 to 100 letters, digits and : . _ / - characters, such as "${DEFAULT_PREFIX}".`,
    );
  }
  requireWhole(`${where}: timeoutMs`, timeoutMs);
  return { prefix, timeoutMs };
}

function driverOf(where: string, client: unknown): Driver {
  if (isIoredis(client)) return ioredisDriver(client);
  if (isNodeRedis(client)) return nodeRedisDriver(client);
  throw new InvalidOptionError(
    `${where} must be a Redis or Cluster of ioredis, or a client of node-redis' createClient() ` +
      "(its createCluster() and createSentinel() are not supported: use ioredis for those).",
  );
}

function refuseUnknown(where: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidOptionError(`${where} takes an object with ${names.join(", ")}.`);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new InvalidOptionError(`${where} has no option "${unknown}"; it has ${names.join(", ")}.`);
  }
}

function requireWhole(what: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > MAX_TIMEOUT_MS) {
    throw new InvalidOptionError(`${what} must be a whole number from 1 to ${MAX_TIMEOUT_MS}.`);
  }
}
