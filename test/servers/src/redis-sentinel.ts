import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { LOOPBACK } from "./free-port.ts";
import { type RedisOptions, type RedisServer, redisBinary, startRedis } from "./redis.ts";
import { redisCommand, redisProcessId } from "./redis-command.ts";
import { onFreePort, type ServerControl, startServer } from "./server.ts";

/** Options of {@link startRedisSentinel}. */
export interface RedisSentinelOptions {
  /** @defaultValue 3 */
  readonly sentinels?: number;
  /** @defaultValue 1 */
  readonly replicas?: number;
  /** Options of the master and of every replica. */
  readonly redis?: Omit<RedisOptions, "port" | "replicaOf" | "tls">;
}

/** One of the watchers. */
export interface Sentinel extends ServerControl {
  readonly host: string;
  readonly port: number;
  command(...command: readonly (string | number)[]): Promise<unknown>;
}

/** A throw-away master with replicas, watched by Sentinels. */
export interface RedisSentinel {
  /** By which Sentinel knows the group. */
  readonly name: string;
  readonly sentinels: readonly Sentinel[];
  /** The first master and its replicas, whatever their present roles. */
  readonly servers: readonly RedisServer[];
  /** The present master, as the Sentinels see it. */
  master(): Promise<RedisServer>;
  /**
   * Promotes a replica, in agreement, or after a kill of the master with `crash`. Returns the new master once every
   * Sentinel names it and it accepts writes.
   */
  failover(options?: { readonly crash?: boolean }): Promise<RedisServer>;
  stop(): Promise<void>;
}

const NAME = "onceward";
const DOWN_AFTER_MS = 1_000;
// Sentinels who find that time jumped (a busy machine) hold still for 30 s.
const PATIENCE_MS = 60_000;

/** Starts a master, its replicas and Sentinels on loopback, and waits until all know each other. */
export async function startRedisSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const { sentinels: sentinelCount = 3, replicas = 1, redis = {} } = options;
  const servers: RedisServer[] = [];
  const sentinels: Sentinel[] = [];
  const stop = async () => {
    await Promise.all([...sentinels, ...servers].map((server) => server.stop()));
  };

  const masterAt = async (sentinel: Sentinel) => {
    const address = (await sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)) as string[] | null;
    return servers.find(({ port }) => port === Number(address?.[1]));
  };
  const watching = () => sentinels.filter(({ pid }) => pid !== undefined);
  const master = () =>
    eventually(
      async () => {
        const [sentinel] = watching();
        return sentinel && masterAt(sentinel);
      },
      { what: "a Sentinel names the master" },
    );

  const failover: RedisSentinel["failover"] = async ({ crash = false } = {}) => {
    const old = await master();
    if (crash) await old.kill();
    else await watching()[0]?.command("SENTINEL", "FAILOVER", NAME);
    return eventually(
      async () => {
        const named = new Set(await Promise.all(watching().map(masterAt)));
        const [next] = named;
        if (named.size !== 1 || next === undefined || next === old) return undefined;
        return String(await next.command("ROLE")).startsWith("master") && next;
      },
      { what: "every Sentinel names the new master", timeoutMs: PATIENCE_MS, intervalMs: 50 },
    );
  };

  try {
    // So that whoever is demoted can authenticate with the next master.
    const masterAuth = redis.password === undefined ? [] : [`masterauth ${JSON.stringify(redis.password)}`];
    const common = { ...redis, config: [...masterAuth, ...(redis.config ?? [])] };
    const first = await startRedis(common);
    servers.push(first);
    for (let index = 0; index < replicas; index += 1) {
      const replica = await startRedis({ ...common, replicaOf: first });
      servers.push(replica);
      await eventually(
        async () => String(await replica.command("INFO", "replication")).includes("master_link_status:up"),
        { what: "the replica is in sync" },
      );
    }
    const quorum = Math.floor(sentinelCount / 2) + 1;
    for (let index = 0; index < sentinelCount; index += 1) sentinels.push(await startSentinel(first, quorum));
    for (const sentinel of sentinels) await untilComplete(sentinel, sentinelCount - 1, replicas);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name: NAME, sentinels, servers, master, failover, stop };
}

async function startSentinel(master: RedisServer, quorum: number): Promise<Sentinel> {
  const binary = await redisBinary();
  return onFreePort(async (port) => {
    const target = { host: LOOPBACK, port };
    const command = (...parts: readonly (string | number)[]) => redisCommand(target, ...parts);
    const control = await startServer({
      command: binary,
      args: (dir) => [join(dir, "sentinel.conf"), "--sentinel"],
      prepare: async (dir) => {
        const lines = [
          `bind ${LOOPBACK}`,
          `port ${port}`,
          `dir ${JSON.stringify(dir)}`,
          `sentinel monitor ${NAME} ${master.host} ${master.port} ${quorum}`,
          `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
          `sentinel failover-timeout ${NAME} 5000`,
        ];
        if (master.password !== undefined) lines.push(`sentinel auth-pass ${NAME} ${JSON.stringify(master.password)}`);
        await writeFile(join(dir, "sentinel.conf"), `${lines.join("\n")}\n`);
      },
      whoListens: () => redisProcessId(target),
      itself: (_dir, pid) => pid,
      stopSignal: "SIGTERM",
    });
    return Object.assign(control, target, { command });
  });
}

async function untilComplete(sentinel: Sentinel, otherSentinels: number, replicas: number): Promise<void> {
  await eventually(
    async () => {
      const flat = (await sentinel.command("SENTINEL", "MASTER", NAME)) as string[];
      const countOf = (field: string) => Number(flat[flat.indexOf(field) + 1]);
      return countOf("num-other-sentinels") === otherSentinels && countOf("num-slaves") === replicas;
    },
    { what: "the Sentinels know each other and the replicas", timeoutMs: PATIENCE_MS, intervalMs: 50 },
  );
}
