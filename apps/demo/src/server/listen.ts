import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

const TRIES = 20;

/** Listens on loopback, on this port or on the next one that is free; 0 takes any. Resolves with the port. */
export async function listenNear(server: Server, port: number): Promise<number> {
  for (let offset = 0; ; offset += 1) {
    try {
      return await listen(server, port === 0 ? 0 : port + offset);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      if (offset === TRIES) throw new Error(`Ports ${port} to ${port + TRIES} are busy: name another with --port.`);
    }
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      server.removeListener("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
