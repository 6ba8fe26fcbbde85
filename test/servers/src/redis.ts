import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findBinary } from "./binary.ts";
import { type Certificate, writeCertificate } from "./certificate.ts";
import { LOOPBACK } from "./free-port.ts";
import { type RedisTarget, redisCommand, redisProcessId } from "./redis-command.ts";
import { onFreePort, type ServerControl, startServer } from "./server.ts";

/** A user of Redis' access control lists. */
export interface RedisUser {
  readonly name: string;
  readonly password: string;
  /** @defaultValue `~* &* +@all`: everything */
  readonly rules?: string;
}

/** Options of {@link startRedis}. */
export interface RedisOptions {
  /** @defaultValue a free one */
  readonly port?: number;
  /** Further lines of redis.conf; they win over the options here. */
  readonly config?: readonly string[];
  /** The default user's password. */
  readonly password?: string;
  readonly users?: readonly RedisUser[];
  /** Speak TLS only, with a fresh self-signed certificate. */
  readonly tls?: boolean;
  /** Replicate from this server. */
  readonly replicaOf?: RedisTarget;
  /** `appendonly` keeps data over restarts and kills. @defaultValue `none` */
  readonly persistence?: "none" | "appendonly";
  /** Such as `10mb`; beyond it writes fail, because the eviction policy is `noeviction` unless `config` says else. */
  readonly maxmemory?: string;
}

/** A throw-away Redis or Valkey server. */
export interface RedisServer extends ServerControl {
  readonly owned: true;
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly password: string | undefined;
  /** What a client needs to trust the server; `undefined` without TLS. */
  readonly tls: Certificate | undefined;
  /** Sends one command over a connection of its own, as the default user. */
  command(...command: readonly (string | number)[]): Promise<unknown>;
}

/** Redis Cluster's nodes talk to each other on their port plus this. */
export const CLUSTER_BUS_OFFSET = 10_000;

/** The path of redis-server or valkey-server, which is installed if need be. */
export function redisBinary(): Promise<string> {
  return findBinary({
    variable: "REDIS_SERVER",
    names: ["redis-server", "valkey-server"],
    aptPackage: "redis-server",
  });
}

/** Starts a throw-away Redis on loopback. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const clustered = options.config?.includes("cluster-enabled yes") === true;
  return onFreePort((port) => startRedisOn(port, options), {
    fixed: options.port,
    alsoAt: clustered ? [CLUSTER_BUS_OFFSET] : [],
  });
}

async function startRedisOn(port: number, options: RedisOptions): Promise<RedisServer> {
  let tls: Certificate | undefined;
  const { password } = options;
  const target = (): RedisTarget => ({ host: LOOPBACK, port, password, tls });
  const command = (...parts: readonly (string | number)[]) => redisCommand(target(), ...parts);

  const control = await startServer({
    command: await redisBinary(),
    args: (dir) => [join(dir, "redis.conf")],
    prepare: async (dir) => {
      // A certificate that changed with `restart({ empty: true })` would lock out clients that trust the first.
      tls = options.tls === true ? await writeCertificate(dir, tls) : undefined;
      await writeFile(join(dir, "redis.conf"), `${configOf(port, dir, options).join("\n")}\n`);
    },
    whoListens: () => redisProcessId(target()),
    itself: (_dir, pid) => pid,
    stopSignal: "SIGTERM",
  });

  const credentials = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
  const url = `${options.tls === true ? "rediss" : "redis"}://${credentials}${LOOPBACK}:${port}`;
  return Object.assign(control, { owned: true as const, url, host: LOOPBACK, port, password, tls, command });
}

function configOf(port: number, dir: string, options: RedisOptions): string[] {
  const { password, users = [], tls = false, replicaOf, persistence = "none", maxmemory, config = [] } = options;
  const lines = [`bind ${LOOPBACK}`, `dir ${JSON.stringify(dir)}`, 'save ""'];
  // By default, a master waits five seconds for further replicas before it serves the first.
  lines.push("repl-diskless-sync-delay 0", `appendonly ${persistence === "appendonly" ? "yes" : "no"}`);
  if (tls) {
    const [cert, key] = [JSON.stringify(join(dir, "server.crt")), JSON.stringify(join(dir, "server.key"))];
    lines.push("port 0", `tls-port ${port}`, `tls-cert-file ${cert}`, `tls-key-file ${key}`);
    lines.push(`tls-ca-cert-file ${cert}`, "tls-auth-clients no");
  } else {
    lines.push(`port ${port}`);
  }
  if (password !== undefined) lines.push(`requirepass ${JSON.stringify(password)}`);
  for (const { name, password: secret, rules = "~* &* +@all" } of users) {
    lines.push(`user ${name} on >${secret} ${rules}`);
  }
  if (replicaOf !== undefined) {
    lines.push(`replicaof ${replicaOf.host} ${replicaOf.port}`);
    if (replicaOf.password !== undefined) lines.push(`masterauth ${JSON.stringify(replicaOf.password)}`);
  }
  if (maxmemory !== undefined) lines.push(`maxmemory ${maxmemory}`);
  return [...lines, ...config];
}
