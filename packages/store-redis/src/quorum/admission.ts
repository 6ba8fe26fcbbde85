import { setTimeout as sleep } from "node:timers/promises";
import { type StoreEvent, StoreUnavailableError } from "@onceward/core";
import type { Argument } from "../driver.ts";
import { isNoScript } from "../failures.ts";
import { scripts } from "../generated/scripts.ts";
import { claimArguments, readClaim } from "../record.ts";
import type { GatedScripts, Member } from "./member.ts";
import { type Group, majorityOf, prevailing, readVote, type Vote } from "./votes.ts";

/** Held on a server while it is brought up to date; no hash, so no record's id. */
const LOCK_ID = "admission";
const LOCK_MS = 5_000;
const LOCK_POLL_MS = 10;

/** Reads what a server holds, whether its silence counts or not. */
export const dumpOf = (member: Member, id: string): Promise<Vote> =>
  member.run(scripts.dump, id, [], (reply) => readVote(member, reply));

/** Gives a server what prevails. True when it has it now. */
export function adopt(
  member: Member,
  id: string,
  { best }: Pick<Group, "best">,
  seen: Vote | undefined,
  lingerMs: number,
) {
  const args: Argument[] = [headOf(seen), best.text, String(best.nowUs), String(lingerMs)];
  return member.run(scripts.adopt, id, args, (reply) => reply === 1);
}

/** A vote's record without its outcome or steps. */
export function headOf(vote: Vote | undefined): string {
  return vote === undefined ? "" : (vote.text.toString("latin1").split("\n", 1)[0] ?? "");
}

/**
 * Makes a server a full member: one that is new, or that has restarted and may have lost records. It gets from the
 * others what it must know before its "nothing here" may count again.
 *
 * @throws StoreUnavailableError while too few of the others can be asked.
 */
export async function admit(
  member: Member,
  members: readonly Member[],
  gated: GatedScripts,
  lingerMs: number,
  warn: (event: StoreEvent) => void,
): Promise<void> {
  const others = members.filter((other) => other !== member);
  const standing = await Promise.all(others.map((other) => standingOf(other, gated)));
  const full = others.filter((_, index) => standing[index] === "full");
  const enough = full.length >= majorityOf(members.length);
  if (!enough && standing.includes("unreachable")) {
    throw new StoreUnavailableError(
      `Redis server ${member.index} has started anew, and can't take part before it has heard from the others`,
    );
  }
  if (!enough && full.length > 0) {
    warn({
      type: "store-warning",
      code: "redis-quorum-memory",
      message: "More Redis servers have started anew than the quorum can bear: what only they knew may run again.",
    });
  }
  const { runId: runBefore, version } = await serverOf(member);
  if (version < 7) {
    warn({
      type: "store-warning",
      code: "redis-quorum-version",
      message:
        `Redis server ${member.index} is older than 7.0 and may keep scripts over a restart, by which the quorum knows ` +
        "who has lost its memory. Upgrade it, or set appendfsync always.",
    });
  }
  const lock = await lockOf(member, gated);
  if (lock === undefined) return;
  try {
    const sources = enough ? full : others;
    for (const [index, source] of sources.entries()) {
      for await (const page of source.server.driver.scan(source.server.pattern)) {
        const ids = page.map((key) => source.server.idOf(key)).filter((id) => id !== LOCK_ID);
        await Promise.all(ids.map((id) => copy(id, member, sources, index, members.length, lingerMs)));
        await lock.extend();
      }
    }
    await member.server.within(Promise.all(Object.values(gated).map((script) => member.server.driver.load(script))));
  } finally {
    await lock.release();
  }
  if ((await serverOf(member)).runId !== runBefore) {
    await member.server.within(member.server.driver.forgetScripts());
    throw new StoreUnavailableError(
      `Redis server ${member.index} has started anew while it was being brought up to date`,
    );
  }
}

/**
 * One instance of the application at a time brings a server up to date; the others wait for it.
 *
 * @returns undefined when another has done it.
 */
async function lockOf(member: Member, gated: GatedScripts) {
  const token = globalThis.crypto.randomUUID();
  const args = claimArguments({ token, fingerprint: "-", leaseMs: LOCK_MS, retainMs: LOCK_MS, takeover: true });
  const locked = async () => {
    const { state } = await member.run(scripts.claim, LOCK_ID, args, (reply) => readClaim(reply, token));
    return state === "claimed";
  };
  const release = () => member.run(scripts.release, LOCK_ID, [token], () => {}).catch(() => {});
  const extend = async () => {
    if (!(await locked())) throw new StoreUnavailableError(`Another has begun to update Redis server ${member.index}`);
  };
  while (!(await locked())) await sleep(LOCK_POLL_MS);
  if ((await standingOf(member, gated)) !== "full") return { extend, release };
  await release();
  return undefined;
}

/** @param index - of the source that named the id; if one before it has it as well, it has been copied. */
async function copy(
  id: string,
  to: Member,
  sources: readonly Member[],
  index: number,
  members: number,
  lingerMs: number,
): Promise<void> {
  const votes = await Promise.all(sources.map((source) => dumpOf(source, id)));
  if (votes.slice(0, index).some(({ line }) => line !== undefined)) return;
  // What the server itself remembers doesn't count: that it may have forgotten what came later is why we are here.
  const group = prevailing(votes, members);
  if (group !== undefined) await adopt(to, id, group, undefined, lingerMs);
}

async function standingOf(member: Member, gated: GatedScripts): Promise<"full" | "new" | "unreachable"> {
  try {
    await member.server.run(gated.dump, "-", [], { read: () => {}, noScript: "fail" });
    return "full";
  } catch (error) {
    return isNoScript(error) ? "new" : "unreachable";
  }
}

async function serverOf(member: Member): Promise<{ runId: string | undefined; version: number }> {
  const info = await member.server.within(member.server.driver.info("server"));
  return { runId: /run_id:(\w+)/.exec(info)?.[1], version: Number(/redis_version:(\d+)/.exec(info)?.[1] ?? 7) };
}
