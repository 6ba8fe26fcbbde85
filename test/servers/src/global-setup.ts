import { pgBouncerBinary } from "./pgbouncer.ts";
import { redisBinary } from "./redis.ts";

/**
 * For `globalSetup` in a vitest configuration: installs what is missing before any test's clock runs. It never fails:
 * what could not be installed is said, with the remedy, by the tests that need it.
 */
export async function setup(): Promise<void> {
  await Promise.allSettled([redisBinary(), pgBouncerBinary()]);
}
