import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Every server of this package listens here, and nowhere else. */
export const LOOPBACK = "127.0.0.1";

// Below the range from which systems take the local ports of outgoing connections: a stopped server finds its port
// free again when it restarts.
const LOWEST = 12_000;
const HIGHEST = 22_000;

/**
 * A TCP port on loopback that nothing listens on.
 *
 * @param alsoAt - Offsets that must be free too, such as the 10,000 of Redis Cluster's bus.
 */
export async function freePort(...alsoAt: readonly number[]): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    const checks = await Promise.all([0, ...alsoAt].map((offset) => isFree(port + offset)));
    if (checks.every(Boolean)) return port;
  }
  throw new Error(`no free port found between ${LOWEST} and ${HIGHEST} on ${LOOPBACK}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ host: LOOPBACK, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
