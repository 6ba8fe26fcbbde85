import type { Buffer } from "node:buffer";
import { expiresAtMs, type Line, parseRecord } from "../record.ts";
import type { Member } from "./member.ts";

/** What one server holds of an id. */
export interface Vote {
  readonly member: Member;
  /** The record as it is stored, with its outcome or steps; empty for nothing. */
  readonly text: Buffer;
  readonly line: Line | undefined;
  /** The server's clock when it answered. */
  readonly nowUs: number;
  /** What a claim has replaced there; empty for nothing. */
  readonly former: Buffer;
}

/** Reads the replies of dump.lua and claim.lua. */
export function readVote(member: Member, reply: unknown): Vote {
  const [text, now, former] = reply as [Buffer, Buffer, Buffer?];
  const nowUs = Number(now);
  member.sawClock(nowUs);
  const line = text.length > 0 ? parseRecord(text) : undefined;
  return { member, text, line, nowUs, former: former ?? text.subarray(0, 0) };
}

/** Whether a server that holds this has nothing to find. */
export function isGone({ line, nowUs }: Pick<Vote, "line" | "nowUs">): boolean {
  return line === undefined || line.state === "T" || expiresAtMs(line) * 1_000 <= nowUs;
}

/** Servers that hold the same: one claim, whatever has become of it, or the absence that followed it. */
export interface Group {
  readonly votes: readonly Vote[];
  /** The vote to trust among them: a completed one, if any. */
  readonly best: Vote;
  readonly line: Line;
}

/** The votes by what they hold; nothing held makes no group. */
export function groupsOf(votes: readonly Vote[]): Group[] {
  const groups = new Map<string, Vote[]>();
  for (const vote of votes) {
    if (vote.line === undefined) continue;
    // A token claims once, under one fence; absences have no token.
    const name = vote.line.token === "-" ? `- ${vote.line.fence}` : vote.line.token;
    groups.set(name, [...(groups.get(name) ?? []), vote]);
  }
  return [...groups.values()].map((members) => {
    const best = members.reduce((a, b) => (rank(b) > rank(a) ? b : a));
    return { votes: members, best, line: best.line as Line };
  });
}

/** The fence of a claim: while it is being evened out its servers differ, and the highest will be that of all. */
export function fenceOf(votes: readonly Vote[]): number {
  return Math.max(...votes.map(({ line }) => line?.fence ?? 0));
}

/** Within one claim: completed beats running, and a higher fence (one that was evened out) a lower. */
function rank({ line }: Vote): number {
  return line === undefined ? -1 : line.fence + (line.state === "C" ? Number.MAX_SAFE_INTEGER / 2 : 0);
}

/**
 * What holds among what the servers say. First, what a majority holds. Else what a majority might hold, given the servers
 * that did not answer: the highest fence, except that something completed beats something running, because replaying
 * what was done can't run it twice. Undefined when nothing can have a majority.
 */
export function prevailing(votes: readonly Vote[], members: number): Group | undefined {
  const majority = majorityOf(members);
  const silent = members - votes.length;
  const groups = groupsOf(votes);
  return (
    groups.find((group) => group.votes.length >= majority) ??
    groups
      .filter((group) => group.votes.length + silent >= majority)
      .sort((a, b) => Number(beats(b, a)) - Number(beats(a, b)))[0]
  );
}

function beats(a: Group, b: Group): boolean {
  const states = `${standing(a)}${standing(b)}`;
  if (states === "CR") return true;
  return states !== "RC" && a.line.fence > b.line.fence;
}

/** What has expired and lingers is no more than an absence. */
function standing({ best, line }: Group): Line["state"] {
  return isGone(best) ? "T" : line.state;
}

/** More than half. */
export function majorityOf(members: number): number {
  return Math.floor(members / 2) + 1;
}
