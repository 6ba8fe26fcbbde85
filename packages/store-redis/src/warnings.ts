import type { StoreEvent } from "@onceward/core";
import type { Driver } from "./driver.ts";

type Warning = Extract<StoreEvent, { type: "store-warning" }>;

/** Looks for settings under which the server may lose records. What the user may not read is passed over. */
export async function serverWarnings(driver: Driver): Promise<Warning[]> {
  const [memory, persistence, save] = await Promise.all([
    driver.info("memory").catch(() => ""),
    driver.info("persistence").catch(() => ""),
    driver.setting("save").catch(() => undefined),
  ]);
  const warnings: Warning[] = [];
  const policy = field(memory, "maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction" && field(memory, "maxmemory") !== "0") {
    warnings.push({
      type: "store-warning",
      code: "redis-eviction",
      message:
        `Redis may evict records (maxmemory-policy is ${policy}), and what was evicted runs again. ` +
        "Set it to noeviction: writes then fail when memory is full, and nothing is lost.",
    });
  }
  if (field(persistence, "aof_enabled") === "0" && save === "") {
    warnings.push({
      type: "store-warning",
      code: "redis-persistence",
      message:
        "Redis keeps nothing on disk (appendonly is no, save is empty): after a restart completed work runs again. " +
        "Set appendonly yes.",
    });
  }
  return warnings;
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
}
