import { connect, type Socket } from "node:net";
import type { Faults, ProxyCounts } from "./counting-proxy.ts";
import { LOOPBACK } from "./free-port.ts";

/** One connection through a proxy. */
export interface Relay {
  /** Whether a black hole has swallowed something, after which the two ends no longer understand each other. */
  readonly lostBytes: boolean;
  /** Ends both sides at once, with RST. */
  cut(): void;
}

interface Held {
  /** `undefined` for the end of the stream. */
  readonly chunk: Buffer | undefined;
  readonly dueAt: number;
}

/** Connects a client to the target, counting what passes and applying the proxy's faults. */
export function relay(client: Socket, targetPort: number, counts: ProxyCounts, faults: Faults): Relay {
  const server = connect({ host: LOOPBACK, port: targetPort });
  const held: Held[] = [];
  let timer: NodeJS.Timeout | undefined;
  let clientSpeaks = false;
  let lostBytes = false;
  let swallow: (() => void) | undefined;

  const cut = () => {
    clearTimeout(timer);
    client.resetAndDestroy();
    server.resetAndDestroy();
  };

  // Bytes from the server wait here when there is a delay, and leave in their order when it changes.
  const release = () => {
    timer = undefined;
    while (held[0] !== undefined && held[0].dueAt <= performance.now()) {
      const chunk = held.shift()?.chunk;
      if (chunk === undefined) client.end();
      else client.write(chunk);
    }
    if (held[0] !== undefined) timer = setTimeout(release, held[0].dueAt - performance.now());
  };
  const toClient = (chunk: Buffer | undefined) => {
    held.push({ chunk, dueAt: performance.now() + faults.delayMs });
    if (timer === undefined) release();
  };

  // Otherwise the kernel holds small packets back, and adds delays of its own.
  for (const socket of [client, server]) socket.setNoDelay(true);

  client.on("data", (chunk) => {
    if (faults.blackhole) {
      lostBytes = true;
      return;
    }
    if (!clientSpeaks) counts.roundTrips += 1;
    clientSpeaks = true;
    counts.bytesToServer += chunk.length;
    if (faults.loseReply?.matching(chunk) === true) {
      swallow = faults.loseReply.lost;
      faults.loseReply = undefined;
    }
    server.write(chunk);
  });
  server.on("data", (chunk) => {
    if (faults.blackhole) {
      lostBytes = true;
      return;
    }
    if (swallow !== undefined) {
      cut();
      swallow();
      return;
    }
    clientSpeaks = false;
    counts.bytesToClient += chunk.length;
    toClient(chunk);
  });

  client.on("end", () => server.end());
  server.on("end", () => {
    if (faults.blackhole) lostBytes = true;
    else toClient(undefined);
  });
  // A refused or broken connection to the target looks like one to the client.
  server.on("error", () => (faults.blackhole ? undefined : cut()));
  client.on("error", cut);
  client.on("close", () => server.destroy());

  return {
    get lostBytes() {
      return lostBytes;
    },
    cut,
  };
}
