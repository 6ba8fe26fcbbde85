import { createHash } from "node:crypto";
import { StoreUnavailableError } from "@onceward/core";
import type { Argument, Driver, Script } from "../driver.ts";
import { isNoScript } from "../failures.ts";
import { scripts } from "../generated/scripts.ts";
import { type Run, redisServer, type Server } from "../server.ts";

/** The scripts whose answers count as votes. */
export type GatedScripts = Readonly<Record<keyof typeof scripts, Script>>;

/** One server of the quorum. */
export interface Member {
  readonly index: number;
  readonly server: Server;
  /** Whether waiting for its answer is worthwhile. */
  readonly prompt: boolean;
  /** False while it doesn't answer, but for a try now and then. */
  worthAsking(): boolean;
  /** Runs a gated script: on a server that has lost its memory, it first has to be admitted again. */
  vote<T>(script: Script, id: string, args: readonly Argument[], read: Run<T>["read"]): Promise<T>;
  /** Runs a script whatever the server remembers. */
  run<T>(script: Script, id: string, args: readonly Argument[], read: Run<T>["read"]): Promise<T>;
  /** Its answer was not waited for any longer. */
  markLate(): void;
  sawClock(nowUs: number): void;
  /** Its clock now, in microseconds, by its last answer; 0 before the first. */
  clockUs(): number;
}

/** How often a server that doesn't answer is tried. */
const RETRY_MS = 200;

/**
 * Scripts of one store alone. A server keeps scripts in memory only, so that it forgets them whenever it restarts: whoever
 * knows them has been up since it was admitted, and its "nothing here" can be believed.
 */
export function gatedScripts(prefix: string): GatedScripts {
  const gate = ([name, { lua }]: [string, Script]) => {
    const text = `-- quorum ${prefix}\n${lua}`;
    return [name, { lua: text, sha1: createHash("sha1").update(text).digest("hex") }];
  };
  return Object.fromEntries(Object.entries(scripts).map(gate)) as GatedScripts;
}

/** @param admit - makes the server a full member again; resolves when it is. */
export function quorumMember(
  index: number,
  driver: Driver,
  { prefix, timeoutMs }: { readonly prefix: string; readonly timeoutMs: number },
  admit: (member: Member) => Promise<void>,
): Member {
  const server = redisServer(driver, prefix, timeoutMs);
  let late = false;
  let failedAt: number | undefined;
  let triedAt = 0;
  let clockOffsetUs: number | undefined;

  const forgotAgain = (error: unknown) => {
    throw isNoScript(error)
      ? new StoreUnavailableError(`Redis server ${index} has started anew`, { cause: error })
      : error;
  };
  /** Notes from every answer how the server is. */
  const observed = async <T>(call: Promise<T>): Promise<T> => {
    try {
      const value = await call;
      late = false;
      failedAt = undefined;
      return value;
    } catch (error) {
      if (error instanceof StoreUnavailableError) failedAt ??= performance.now();
      throw error;
    }
  };
  const member: Member = {
    index,
    server,
    get prompt() {
      return !late && failedAt === undefined;
    },
    worthAsking: () => {
      if (failedAt !== undefined && performance.now() - triedAt < RETRY_MS) return false;
      triedAt = performance.now();
      return true;
    },
    vote: (script, id, args, read) => {
      const once = () => server.run(script, id, args, { read, noScript: "fail" });
      const admitted = async (error: unknown) => {
        if (!isNoScript(error)) throw error;
        await admit(member);
        return once().catch(forgotAgain);
      };
      return observed(server.within(once().catch(admitted)));
    },
    run: (script, id, args, read) => observed(server.run(script, id, args, { read })),
    markLate: () => {
      late = true;
    },
    sawClock: (nowUs) => {
      clockOffsetUs = nowUs - performance.now() * 1_000;
    },
    clockUs: () => (clockOffsetUs === undefined ? 0 : Math.floor(clockOffsetUs + performance.now() * 1_000)),
  };
  return member;
}
