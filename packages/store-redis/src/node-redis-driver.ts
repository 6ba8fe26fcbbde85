import { Buffer } from "node:buffer";
import type { NodeRedisClient } from "./client.ts";
import {
  type Argument,
  type Driver,
  type Subscriber,
  type Subscription,
  type WaitReplicas,
  WRITE_TOGETHER,
} from "./driver.ts";

type Send = (command: Argument[], options?: object) => Promise<unknown>;

/** What connections of node-redis have beside what callers must bring. */
interface Connection extends NodeRedisClient {
  duplicate(): Connection;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (payload: string) => void): Promise<unknown>;
  disconnect?(): Promise<unknown>;
  destroy?(): void;
  on(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** Strings as Buffers: the first is node-redis 4's way, the second ("$" is the type of bulk strings) that of 5 and later. */
const BYTES = { returnBuffers: true, typeMapping: { 36: Buffer } };
const SCAN_PAGE = "200";

/** The driver for clients made with node-redis' `createClient()`. */
export function nodeRedisDriver(caller: NodeRedisClient): Driver {
  const client = caller as Connection;
  const send = client.sendCommand.bind(client) as Send;
  const sendInTurn = inGroups((command: Argument[], wait: WaitReplicas | undefined) => {
    const reply = send(command, BYTES);
    // WAIT looks at what its own connection wrote, and commands of one tick share it, in this order.
    return wait ? Promise.all([reply, send(["WAIT", String(wait.count), String(wait.timeoutMs)])]) : reply;
  });

  return {
    keyPrefix: "",
    evalsha: (script, key, args, wait) => sendInTurn(["EVALSHA", script.sha1, "1", key, ...args], wait),
    eval: (script, key, args, wait) => sendInTurn(["EVAL", script.lua, "1", key, ...args], wait),
    load: (script) => send(["SCRIPT", "LOAD", script.lua]),
    forgetScripts: () => send(["SCRIPT", "FLUSH"]),
    ping: () => send(["PING"]),
    info: async (section) => String(await send(["INFO", section])),
    setting: async (name) => {
      const reply = await send(["CONFIG", "GET", name]);
      // RESP 3 has maps.
      const pairs = Array.isArray(reply) ? reply : Object.entries(reply as object).flat();
      return pairs.length > 1 ? String(pairs[1]) : undefined;
    },
    scan: async function* (pattern) {
      let cursor = "0";
      do {
        const page = ["SCAN", cursor, "MATCH", pattern, "COUNT", SCAN_PAGE, "TYPE", "string"];
        const [next, keys] = (await send(page)) as [string, string[]];
        yield keys;
        cursor = String(next);
      } while (cursor !== "0");
    },
    subscribe: (channel, subscriber) => subscribe(client, channel, subscriber),
  };
}

/**
 * Lets commands leave in groups, one for each turn of the event loop, in the order in which they came. node-redis writes all
 * of a turn at once, and so lets client and server wait for each other: at concurrency 50, new requests are 1.2 times as
 * many, replays 1.3 times.
 */
function inGroups(send: (command: Argument[], wait: WaitReplicas | undefined) => Promise<unknown>) {
  const held: (() => void)[] = [];
  let sent = 0;
  const nextGroup = () => {
    const group = held.splice(0, WRITE_TOGETHER);
    sent = group.length;
    if (sent > 0) setImmediate(nextGroup);
    for (const leave of group) leave();
  };
  return (command: Argument[], wait: WaitReplicas | undefined): Promise<unknown> => {
    if (sent === 0) setImmediate(nextGroup);
    if (sent++ < WRITE_TOGETHER) return send(command, wait);
    return new Promise<void>((resolve) => held.push(resolve)).then(() => send(command, wait));
  };
}

function subscribe(client: Connection, channel: string, subscriber: Subscriber): Subscription {
  const connection = client.duplicate();
  let subscribed = false;
  connection.on("error", () => {});
  // node-redis reconnects by itself and subscribes anew before it says that it is ready.
  for (const event of ["reconnecting", "ready"]) connection.on(event, () => subscribed && subscriber.missed());
  const close = () => {
    client.removeListener("end", ended);
    // Version 4 has no `destroy`. Either complains about a connection that isn't open.
    const closing = async () => (connection.destroy !== undefined ? connection.destroy() : connection.disconnect?.());
    closing().catch(() => {});
  };
  const ended = () => {
    close();
    subscriber.ended();
  };
  client.on("end", ended);
  return {
    ready: (async () => {
      try {
        await connection.connect();
        await connection.subscribe(channel, (payload) => subscriber.message(payload));
        subscribed = true;
      } catch (error) {
        close();
        throw error;
      }
    })(),
    close,
  };
}

/** Whether the caller's client looks like one that node-redis' `createClient()` made. */
export function isNodeRedis(client: unknown): client is NodeRedisClient {
  const { sendCommand, isOpen, masters } = (client ?? {}) as {
    sendCommand?: unknown;
    isOpen?: unknown;
    masters?: unknown;
  };
  // Its Cluster and Sentinel have other signatures of `sendCommand`.
  return typeof sendCommand === "function" && sendCommand.length <= 2 && typeof isOpen === "boolean" && !masters;
}
