import { Buffer } from "node:buffer";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClaimRequest, type ClaimResult, StoreUnavailableError } from "@onceward/core";
import { scripts } from "../generated/scripts.ts";
import { claimArguments, completedResult, heldResult, type Line, parseRecord, writeSteps } from "../record.ts";
import { headOf } from "./admission.ts";
import { gather, NoMajorityError } from "./gather.ts";
import type { Member } from "./member.ts";
import type { Quorum } from "./quorum.ts";
import { fenceOf, type Group, groupsOf, isGone, prevailing, readVote, type Vote } from "./votes.ts";

/** Fences run ahead of the clocks by this much, so that instances which know them less well still agree. */
const LEAD_US = 1_000_000;
/** How long those who lost against others in the race wait before they try again; who is ahead waits a tenth of it. */
const BACKOFF_MS = 20;

/** Claims on a majority of the servers, or on none. */
export async function quorumClaim(quorum: Quorum, id: string, request: ClaimRequest): Promise<ClaimResult> {
  const { members, majority } = quorum;
  const { token } = request;
  const giveUpAt = performance.now() + quorum.timeoutMs;
  const formers = new Map<Member, Buffer>();
  await quorum.clocksKnown();
  for (let round = 1; ; round += 1) {
    const { votes, silent } = await askAll(quorum, id, request, formers);
    const mine = votes.filter(({ line }) => line?.state === "R" && line.token === token);
    const others = votes.filter((vote) => !mine.includes(vote));
    if (mine.length >= majority) {
      const done = completedMeanwhile(mine, others, majority);
      return done === undefined ? settleClaim(quorum, id, token, mine, others) : conclude(quorum, id, done, votes);
    }
    // Where no answer came, the claim may yet arrive.
    for (const member of silent) member.server.letGo(id, token);
    const held = prevailing([...others, ...mine.map(asBefore)], members.length);
    if (held?.line.state === "C") return conclude(quorum, id, held, votes);
    // Several claim at once and none has a majority: who is ahead holds on, the others make room.
    const late = performance.now() > giveUpAt;
    const ahead = mine.length > 0 && !late && isAhead(groupsOf(votes), token);
    const witness = held?.votes.find((vote) => others.includes(vote));
    const certain = held !== undefined && (held.votes.length >= majority || mine.length === 0 || late);
    if (!ahead || certain) await Promise.all(mine.map((vote) => letGo(quorum, id, vote)));
    if (certain && witness?.line?.state === "R") {
      return heldResult({ ...witness.line, fence: fenceOf(held.votes) }, witness.nowUs);
    }
    if (late) throw new StoreUnavailableError("No claim of this id won a majority of the Redis servers in time");
    await sleep((ahead ? BACKOFF_MS / 10 : BACKOFF_MS) * Math.min(round, 5) * (0.5 + Math.random()));
  }
}

/** The vote of a server as if we had not asked. */
function asBefore(vote: Vote): Vote {
  const line = vote.former.length > 0 ? parseRecord(vote.former) : undefined;
  const before = { ...vote, text: vote.former, line };
  return isGone(before) ? { ...before, line: undefined } : before;
}

/** @param formers - what this claim has replaced on each server so far, which a repetition can't see any more. */
async function askAll(quorum: Quorum, id: string, request: ClaimRequest, formers: Map<Member, Buffer>) {
  const { members, gated, lingerMs } = quorum;
  const fence = Math.max(...members.map((member) => member.clockUs())) + LEAD_US;
  const args = [...claimArguments(request, lingerMs), String(fence)];
  try {
    const { answers, silent } = await gather(members, (member) =>
      member.vote(gated.claim, id, args, (reply) => readVote(member, reply)),
    );
    const votes = answers.map((vote) => {
      const former = formers.get(vote.member) ?? vote.former;
      if (vote.line?.token === request.token) formers.set(vote.member, former);
      return { ...vote, former };
    });
    return { votes, silent };
  } catch (error) {
    if (error instanceof NoMajorityError) for (const member of error.asked) member.server.letGo(id, request.token);
    throw error;
  }
}

/** What our claims have replaced, by its fence. */
function formerFence({ former }: Vote): number {
  return former.length > 0 ? parseRecord(former).fence : 0;
}

/**
 * An outcome that some server has although a majority let us claim: the runner could tell only few before its lease ran
 * out. Not one that is older than what our claims have replaced, such as a removal that this server has missed; nor one
 * that a majority had too, and for which its time is over.
 */
function completedMeanwhile(mine: readonly Vote[], others: readonly Vote[], majority: number): Group | undefined {
  const replaced = Math.max(...mine.map(formerFence));
  const hadOutcome = ({ former }: Vote) => former.length > 0 && parseRecord(former).state === "C";
  const expired = mine.filter((vote) => formerFence(vote) === replaced && hadOutcome(vote)).length >= majority;
  return groupsOf(others)
    .filter(({ line }) => line.state === "C" && (expired ? line.fence > replaced : line.fence >= replaced))
    .sort((a, b) => b.line.fence - a.line.fence)[0];
}

/** Makes sure that a majority has the outcome before anybody is told of it. */
async function conclude(quorum: Quorum, id: string, done: Group, votes: readonly Vote[]): Promise<ClaimResult> {
  if ((await quorum.spread(id, done, votes)) < quorum.majority) {
    throw new StoreUnavailableError("The outcome is known to a Redis server, but too few others answer to confirm it");
  }
  return completedResult(done.line);
}

/** Evens out what the servers differ in, which they do when their clocks do or when one of them has missed something. */
async function settleClaim(
  quorum: Quorum,
  id: string,
  token: string,
  mine: readonly Vote[],
  others: readonly Vote[],
): Promise<ClaimResult> {
  const newest = mine.filter((vote) => formerFence(vote) === Math.max(...mine.map(formerFence)));
  const [first] = newest as [Vote, ...Vote[]];
  const fence = fenceOf(mine);
  const steps = new Map(newest.flatMap(({ line }) => [...(line as Line).steps]));
  const { attempt, takenOver } = first.line as Line;
  const even = mine.every(
    ({ line }) =>
      line?.fence === fence &&
      line.attempt === attempt &&
      line.takenOver === takenOver &&
      line.steps.size === steps.size,
  );
  const [flags = "", name, , ...rest] = headOf(first).split(" ");
  const flagged = `${flags[0]}${steps.size > 0 ? "s" : "-"}-`;
  const head = [flagged, name, fence, ...rest.slice(0, 8)].join(" ");
  const best: Vote = { ...first, text: Buffer.concat([Buffer.from(`${head}\n`), writeSteps(steps)]) };
  const group: Group = { votes: even ? mine : [], best, line: { ...(first.line as Line), fence } };
  const holding = even ? mine.length : await quorum.spread(id, group, mine);
  if (holding < quorum.majority) {
    for (const vote of mine) vote.member.server.letGo(id, token);
    throw new StoreUnavailableError("Too few Redis servers confirmed the claim");
  }
  // Those who held something older learn of the claim, so that they can vote for its completion.
  if (others.length > 0) quorum.spread(id, { ...group, votes: mine }, others).catch(() => {});
  return { state: "claimed", fence, attempt, takenOver, ...(steps.size > 0 && { steps }) };
}

/** Of those who hold something: the one with the most servers, and of these the one with the greatest token. */
function isAhead(groups: readonly Group[], token: string): boolean {
  const running = groups.filter(({ line }) => line.state === "R");
  const best = running.sort((a, b) => b.votes.length - a.votes.length || (a.line.token < b.line.token ? 1 : -1))[0];
  return best?.line.token === token;
}

/** Puts back what a claim has replaced. */
async function letGo({ lingerMs }: Quorum, id: string, vote: Vote): Promise<void> {
  const args = [headOf(vote), vote.former, "", String(lingerMs)];
  await vote.member.run(scripts.adopt, id, args, () => {}).catch(() => {});
}
