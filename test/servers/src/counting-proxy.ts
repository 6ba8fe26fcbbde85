import { createServer, type Server } from "node:net";
import { LOOPBACK } from "./free-port.ts";
import { type Relay, relay } from "./relay.ts";

/** What went through a proxy since it started, or since the last `resetCounts()`. */
export interface ProxyCounts {
  connections: number;
  /** How often a client spoke after the server had: a pipeline counts as one. */
  roundTrips: number;
  bytesToServer: number;
  bytesToClient: number;
}

/** A TCP proxy on loopback that counts, and that breaks in the ways networks do. */
export interface CountingProxy {
  readonly host: string;
  readonly port: number;
  readonly counts: Readonly<ProxyCounts>;
  resetCounts(): void;
  /** Any url of the target, but through the proxy. */
  through(url: string): string;
  /** Cuts every open connection (RST). New ones are served. */
  drop(): void;
  /** From now on nothing passes in either direction, on old and new connections alike; connecting still works. */
  blackhole(): void;
  /**
   * Delivers the next request, swallows the beginning of the reply and cuts the connection: the server has done the
   * work, and the client can't know. Resolves when that has happened.
   *
   * @param matching - Which request: that of the first chunk for which it returns true. By default, the next one.
   */
  loseNextReply(matching?: (request: Buffer) => boolean): Promise<void>;
  /** Holds every chunk from the server back for this long. */
  delay(ms: number): void;
  /** Ends `blackhole`, `delay` and a pending `loseNextReply`. Cuts connections that lost bytes to the black hole. */
  restore(): void;
  /** Cuts all and stops listening. */
  close(): Promise<void>;
}

/** The faults that all connections of a proxy share. */
export interface Faults {
  blackhole: boolean;
  delayMs: number;
  loseReply: { matching: (request: Buffer) => boolean; lost: () => void } | undefined;
}

/** Starts a proxy before a port on loopback. */
export async function countingProxy(targetPort: number): Promise<CountingProxy> {
  const counts: ProxyCounts = { connections: 0, roundTrips: 0, bytesToServer: 0, bytesToClient: 0 };
  const faults: Faults = { blackhole: false, delayMs: 0, loseReply: undefined };
  const open = new Set<Relay>();

  const server = createServer((client) => {
    counts.connections += 1;
    const connection = relay(client, targetPort, counts, faults);
    open.add(connection);
    client.once("close", () => open.delete(connection));
  });
  const port = await listen(server);

  return {
    host: LOOPBACK,
    port,
    counts,
    resetCounts: () => {
      Object.assign(counts, { connections: 0, roundTrips: 0, bytesToServer: 0, bytesToClient: 0 });
    },
    through: (original) => {
      const url = new URL(original);
      [url.hostname, url.port] = [LOOPBACK, String(port)];
      return url.href;
    },
    drop: () => {
      for (const connection of open) connection.cut();
    },
    blackhole: () => {
      faults.blackhole = true;
    },
    loseNextReply: (matching = () => true) =>
      new Promise((lost) => {
        faults.loseReply = { matching, lost };
      }),
    delay: (ms) => {
      faults.delayMs = ms;
    },
    restore: () => {
      Object.assign(faults, { blackhole: false, delayMs: 0, loseReply: undefined });
      for (const connection of open) if (connection.lostBytes) connection.cut();
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const connection of open) connection.cut();
      await closed;
    },
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: LOOPBACK, port: 0 }, () => {
      const address = server.address();
      if (address !== null && typeof address === "object") resolve(address.port);
    });
  });
}
