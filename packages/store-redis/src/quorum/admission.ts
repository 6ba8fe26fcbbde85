import { type StoreEvent, StoreUnavailableError } from "@onceward/core";
import type { Argument } from "../driver.ts";
import { isNoScript } from "../failures.ts";
import { scripts } from "../generated/scripts.ts";
import type { GatedScripts, Member } from "./member.ts";
import { type Group, majorityOf, prevailing, readVote, type Vote } from "./votes.ts";

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
  const runBefore = await runId(member);
  const sources = enough ? full : others;
  for (const source of sources) {
    for await (const page of source.server.driver.scan(source.server.pattern)) {
      await Promise.all(page.map((key) => copy(source.server.idOf(key), member, sources, members.length, lingerMs)));
    }
  }
  await member.server.within(Promise.all(Object.values(gated).map((script) => member.server.driver.load(script))));
  if ((await runId(member)) !== runBefore) {
    await member.server.within(member.server.driver.forgetScripts());
    throw new StoreUnavailableError(
      `Redis server ${member.index} has started anew while it was being brought up to date`,
    );
  }
}

async function copy(id: string, to: Member, sources: readonly Member[], members: number, lingerMs: number) {
  const [own, ...theirs] = await Promise.all([to, ...sources].map((member) => dumpOf(member, id)));
  const group = prevailing(
    [own, ...theirs].filter((vote) => vote !== undefined && (vote !== own || vote.line !== undefined)) as Vote[],
    members,
  );
  if (group !== undefined && own !== undefined && !group.votes.includes(own)) await adopt(to, id, group, own, lingerMs);
}

async function standingOf(member: Member, gated: GatedScripts): Promise<"full" | "new" | "unreachable"> {
  try {
    await member.server.run(gated.dump, "-", [], { read: () => {}, noScript: "fail" });
    return "full";
  } catch (error) {
    return isNoScript(error) ? "new" : "unreachable";
  }
}

async function runId(member: Member): Promise<string | undefined> {
  const info = await member.server.within(member.server.driver.info("server"));
  return /run_id:(\w+)/.exec(info)?.[1];
}
