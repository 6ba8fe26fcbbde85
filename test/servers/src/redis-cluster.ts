import { eventually } from "./eventually.ts";
import { LOOPBACK } from "./free-port.ts";
import { type RedisOptions, type RedisServer, startRedis } from "./redis.ts";

/** Options of {@link startRedisCluster}. */
export interface RedisClusterOptions {
  /** @defaultValue 3 */
  readonly masters?: number;
  /** Replicas of each master. @defaultValue 0 */
  readonly replicas?: 0 | 1;
  /** Further lines of every node's redis.conf. */
  readonly config?: readonly string[];
  /** @defaultValue `none` */
  readonly persistence?: RedisOptions["persistence"];
}

/** A node, with its name in the cluster. */
export interface RedisClusterNode extends RedisServer {
  readonly id: string;
}

/** A throw-away Redis Cluster. */
export interface RedisCluster {
  /** The masters of the beginning, then their replicas in the same order. */
  readonly nodes: readonly RedisClusterNode[];
  /** The slot of a key, `{hash tags}` heeded. */
  slotOf(key: string): Promise<number>;
  /** The node that now serves a slot. */
  ownerOf(slot: number): Promise<RedisClusterNode>;
  /**
   * Moves a slot with its keys while clients go on.
   *
   * @param whileOpen - Runs when the slot is in both places: ten keys have moved, and `from` serves the others, while
   * it answers `ASK` for keys it has no more or never had.
   */
  migrateSlot(
    slot: number,
    from: RedisClusterNode,
    to: RedisClusterNode,
    whileOpen?: () => Promise<void>,
  ): Promise<void>;
  /**
   * Puts a master's replica in its place: they change roles in agreement, or with `crash` the master is killed.
   * Returns the new master once every node that runs knows it.
   */
  failover(master: RedisClusterNode, options?: { readonly crash?: boolean }): Promise<RedisClusterNode>;
  /** Waits until every node that runs says that the cluster is well. */
  healthy(): Promise<void>;
  stop(): Promise<void>;
}

interface NodeLine {
  readonly id: string;
  readonly flags: readonly string[];
  readonly masterId: string;
  readonly linked: boolean;
  readonly ranges: readonly (readonly [first: number, last: number])[];
}

const SLOTS = 16_384;
const KEYS_PER_MOVE = 10;
// How long a node must be silent before the others vote about it: short for quick tests, long for a busy machine.
const NODE_TIMEOUT_MS = 2_000;

/** Starts a real Redis Cluster on loopback, with all slots assigned. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters: masterCount = 3, replicas: replicasEach = 0, config = [], persistence = "none" } = options;
  const cluster = ["cluster-enabled yes", `cluster-node-timeout ${NODE_TIMEOUT_MS}`, `cluster-announce-ip ${LOOPBACK}`];
  const count = masterCount * (1 + replicasEach);
  const started = await Promise.allSettled(
    Array.from({ length: count }, async () => {
      const server = await startRedis({ persistence, config: [...cluster, ...config] });
      return Object.assign(server, { id: String(await server.command("CLUSTER", "MYID")) });
    }),
  );
  const nodes = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  const alive = () => nodes.filter((node) => node.pid !== undefined);

  const healthy = () =>
    everyNode(alive(), "the cluster is well", async (node) => {
      const [lines, info] = [await nodeLines(node), String(await node.command("CLUSTER", "INFO"))];
      const others = lines.filter(({ id, linked }) => linked && alive().some((each) => each.id === id));
      const connected = others.length === alive().length;
      return connected && info.includes("cluster_state:ok");
    });

  const ownerOf = (slot: number) =>
    eventually(
      async () => {
        const [node] = alive();
        const owner = (node ? await nodeLines(node) : []).find(
          ({ flags, ranges }) => !flags.includes("fail") && ranges.some(([from, to]) => from <= slot && slot <= to),
        );
        return nodes.find(({ id }) => id === owner?.id);
      },
      { what: `somebody serves slot ${slot}` },
    );

  const migrateSlot: RedisCluster["migrateSlot"] = async (slot, from, to, whileOpen) => {
    const moveSome = async () => {
      const keys = (await from.command("CLUSTER", "GETKEYSINSLOT", slot, KEYS_PER_MOVE)) as string[];
      if (keys.length > 0) await from.command("MIGRATE", to.host, to.port, "", 0, 5_000, "KEYS", ...keys);
      return keys.length;
    };
    await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id);
    await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id);
    await moveSome();
    await whileOpen?.();
    while ((await moveSome()) > 0);
    // The new owner first: in the other order, both would turn a request away for a moment.
    await to.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
    await from.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
    await everyNode(alive(), `slot ${slot} has moved`, async (node) => {
      const owner = (await nodeLines(node)).find(({ id }) => id === to.id);
      return owner?.ranges.some(([first, last]) => first <= slot && slot <= last) === true;
    });
  };

  const failover: RedisCluster["failover"] = async (master, { crash = false } = {}) => {
    const [observer] = alive().filter((node) => node !== master);
    const lines = observer ? await nodeLines(observer) : [];
    const replica = nodes.find(({ id }) => lines.some((line) => line.id === id && line.masterId === master.id));
    if (replica === undefined) throw new Error("failover needs a replica: startRedisCluster({ replicas: 1 })");
    if (crash) await master.kill();
    else await replica.command("CLUSTER", "FAILOVER");
    await everyNode(alive(), "the replica is the new master", async (node) => {
      const line = (await nodeLines(node)).find(({ id }) => id === replica.id);
      return line?.flags.includes("master") === true && line.ranges.length > 0;
    });
    if (!crash) await untilReplica(master, replica, alive());
    await healthy();
    return replica;
  };

  try {
    for (const result of started) if (result.status === "rejected") throw result.reason;
    await form(nodes, masterCount, healthy);
  } catch (error) {
    await stop();
    throw error;
  }
  const slotOf = async (key: string) => Number(await alive()[0]?.command("CLUSTER", "KEYSLOT", key));
  return { nodes, slotOf, ownerOf, migrateSlot, failover, healthy, stop };
}

async function form(nodes: readonly RedisClusterNode[], masterCount: number, healthy: () => Promise<void>) {
  const masters = nodes.slice(0, masterCount);
  await Promise.all(
    masters.map(async (node, index) => {
      const first = Math.floor((index * SLOTS) / masterCount);
      const last = Math.floor(((index + 1) * SLOTS) / masterCount);
      await node.command("CLUSTER", "ADDSLOTS", ...Array.from({ length: last - first }, (_, offset) => first + offset));
    }),
  );
  // Different epochs from the start spare the masters from finding out about each other's by collision.
  for (const [index, node] of nodes.entries()) await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
  for (const node of nodes.slice(1)) await nodes[0]?.command("CLUSTER", "MEET", node.host, node.port);
  await healthy();
  const replicas = nodes.slice(masterCount);
  await Promise.all(
    replicas.map(async (replica, index) => {
      const master = masters[index % masterCount] as RedisClusterNode;
      await replica.command("CLUSTER", "REPLICATE", master.id);
      await untilReplica(replica, master, nodes);
    }),
  );
}

async function untilReplica(replica: RedisClusterNode, master: RedisClusterNode, nodes: readonly RedisClusterNode[]) {
  await everyNode(nodes, "all know the replica", async (node) =>
    (await nodeLines(node)).some(({ id, masterId }) => id === replica.id && masterId === master.id),
  );
  await everyNode([replica], "the replica is in sync", async (node) =>
    String(await node.command("INFO", "replication")).includes("master_link_status:up"),
  );
}

async function everyNode(
  nodes: readonly RedisClusterNode[],
  what: string,
  check: (node: RedisClusterNode) => Promise<boolean>,
): Promise<void> {
  await Promise.all(nodes.map((node) => eventually(() => check(node), { what, timeoutMs: 40_000, intervalMs: 50 })));
}

/** `<id> <address> <flags> <master> <ping> <pong> <epoch> <link> <slot>...`; a slot being moved stands in brackets. */
async function nodeLines(node: RedisClusterNode): Promise<NodeLine[]> {
  const text = String(await node.command("CLUSTER", "NODES"));
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [id = "", , flags = "", masterId = "", , , , link, ...slots] = line.split(" ");
      const ranges = slots
        .filter((slot) => !slot.startsWith("["))
        .map((slot) => {
          const [first, last = first] = slot.split("-");
          return [Number(first), Number(last)] as const;
        });
      return { id, flags: flags.split(","), masterId, linked: link === "connected", ranges };
    });
}
