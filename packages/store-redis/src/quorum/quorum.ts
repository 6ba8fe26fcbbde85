import { type StoreEvent, StoreUnavailableError } from "@onceward/core";
import type { Argument, Driver, Script } from "../driver.ts";
import { admit, adopt } from "./admission.ts";
import { gather } from "./gather.ts";
import { type GatedScripts, gatedScripts, type Member, quorumMember } from "./member.ts";
import { type Group, majorityOf, prevailing, readVote, type Vote } from "./votes.ts";

/** The servers together. */
export interface Quorum {
  readonly members: readonly Member[];
  readonly majority: number;
  readonly gated: GatedScripts;
  readonly timeoutMs: number;
  /** How long what is gone is remembered for its fence: clocks of the servers may differ by less than this. */
  readonly lingerMs: number;
  /** Fences are made of the servers' clocks: resolves when those of a majority are known, which they are for good. */
  clocksKnown(): Promise<void> | undefined;
  /** What a majority of the servers say about an id, in the servers' order. */
  dump(id: string): Promise<readonly Vote[]>;
  /** Gives a group's record to those that voted otherwise; how many servers have it then. */
  spread(id: string, group: Group, votes: readonly Vote[]): Promise<number>;
  /** Runs a script that changes what a token holds. True when that is so on a majority of the servers. */
  change(script: Script, id: string, args: readonly Argument[]): Promise<boolean>;
}

const LINGER_MS = 60_000;

/** Builds a {@link Quorum} over one driver a server. */
export function quorumOf(
  drivers: readonly Driver[],
  options: { readonly prefix: string; readonly timeoutMs: number },
  warn: (event: StoreEvent) => void,
): Quorum {
  const gated = gatedScripts(options.prefix);
  const admissions = new Map<Member, Promise<void>>();
  const admitOnce = (member: Member): Promise<void> => {
    const admission =
      admissions.get(member) ?? admit(member, members, gated, LINGER_MS, warn).finally(() => admissions.delete(member));
    admissions.set(member, admission);
    return admission;
  };
  const members: readonly Member[] = drivers.map((driver, index) => quorumMember(index, driver, options, admitOnce));
  const majority = majorityOf(members.length);
  let clocks: Promise<void> | undefined;

  const quorum: Quorum = {
    members,
    majority,
    gated,
    timeoutMs: options.timeoutMs,
    lingerMs: LINGER_MS,
    clocksKnown: () => {
      if (members.filter((member) => member.clockUs() > 0).length >= majority) return undefined;
      clocks ??= quorum
        .dump("-")
        .then(() => {})
        .finally(() => {
          clocks = undefined;
        });
      return clocks;
    },
    dump: async (id) => {
      const ask = (member: Member) => member.vote(gated.dump, id, [], (reply) => readVote(member, reply));
      const { answers } = await gather(members, ask);
      return answers.toSorted((a, b) => a.member.index - b.member.index);
    },
    spread: async (id, group, votes) => {
      const lacking = votes.filter((vote) => !hasIt(vote, group));
      const adopted = await Promise.all(
        lacking.map((vote) => adopt(vote.member, id, group, vote, LINGER_MS).catch(() => false)),
      );
      return group.votes.filter((vote) => hasIt(vote, group)).length + adopted.filter(Boolean).length;
    },
    change: async (script, id, args) => {
      const ask = async (member: Member) => ({
        member,
        yes: await member.vote(script, id, args, (reply) => reply === 1),
      });
      const { answers } = await gather(members, ask);
      const yes = answers.filter((answer) => answer.yes).map(({ member }) => member);
      if (yes.length === 0) return false;
      if (yes.length === answers.length && yes.length >= majority) return true;
      // They differ: some have missed something. What prevails decides, and all get it.
      const settling = settle(id);
      if (yes.length >= majority) {
        settling.catch(() => {});
        return true;
      }
      const group = await settling;
      return group?.votes.some((vote) => yes.includes(vote.member)) === true;
    },
  };
  return quorum;

  async function settle(id: string): Promise<Group | undefined> {
    const votes = await quorum.dump(id);
    const group = prevailing(votes, members.length);
    if (group !== undefined && (await quorum.spread(id, group, votes)) < majority) {
      throw new StoreUnavailableError("The Redis servers disagree, and too few of them answer to settle it");
    }
    return group;
  }
}

/** Whether that server has the record in the group's best state. */
function hasIt(vote: Vote, { votes, line }: Group): boolean {
  return votes.includes(vote) && vote.line?.state === line.state && vote.line.fence === line.fence;
}
