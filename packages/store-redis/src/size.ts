import { StoreRejectedError } from "@onceward/core";
import type { Server } from "./server.ts";

/** No server can be told to refuse as much as this (`proto-max-bulk-len` is at least 1 MiB). */
const ALWAYS_TAKEN = 1_000_000;
const DEFAULT_MAX_BYTES = 512 * 1_024 * 1_024;

/**
 * Runs the call if the bytes are not more than the server takes. A server that gets more cuts the connection, and with it
 * what others have under way there.
 */
export function sizeGuard(server: Server) {
  let limit: Promise<number> | undefined;
  const readLimit = async () => {
    // Users may lack the permission to ask.
    const setting = await server.within(server.driver.setting("proto-max-bulk-len")).catch(() => undefined);
    return Number(setting ?? DEFAULT_MAX_BYTES);
  };
  return <T>(bytes: Uint8Array, call: () => Promise<T>): Promise<T> => {
    if (bytes.length < ALWAYS_TAKEN) return call();
    limit ??= readLimit();
    return limit.then((maxBytes) => {
      if (bytes.length <= maxBytes) return call();
      throw new StoreRejectedError(
        `${bytes.length} bytes are more than the server takes: proto-max-bulk-len is ${maxBytes}`,
      );
    });
  };
}
