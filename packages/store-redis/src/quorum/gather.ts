import { StoreRejectedError, StoreUnavailableError } from "@onceward/core";
import type { Member } from "./member.ts";
import { majorityOf } from "./votes.ts";

/** How long the others are waited for when a majority has answered; those who take longer, not again until they answer. */
const GRACE_MS = 100;

/** The answers of a majority at least. */
export interface Gathered<T> {
  readonly answers: readonly T[];
  /** Those that were asked and have not answered: what was sent may yet take effect. */
  readonly silent: readonly Member[];
}

/** Not enough servers answered. */
export class NoMajorityError extends StoreUnavailableError {
  constructor(
    message: string,
    cause: unknown,
    /** Those that were asked. */
    readonly asked: readonly Member[],
  ) {
    super(message, { cause });
  }
}

/**
 * Asks all servers at once and waits for all that are prompt, and for a majority in any case.
 *
 * @throws NoMajorityError, or StoreRejectedError when it is servers that refuse.
 */
export function gather<T>(members: readonly Member[], ask: (member: Member) => Promise<T>): Promise<Gathered<T>> {
  const majority = majorityOf(members.length);
  const asked: Member[] = [];
  const answers = new Map<Member, T>();
  const errors = new Map<Member, unknown>();

  return new Promise((resolve, reject) => {
    let grace: NodeJS.Timeout | undefined;
    let over = false;
    const silent = () => asked.filter((member) => !answers.has(member) && !errors.has(member));
    const finish = () => {
      over = true;
      clearTimeout(grace);
      for (const member of silent()) member.markLate();
      resolve({ answers: [...answers.values()], silent: silent() });
    };
    const check = () => {
      if (over) return;
      if (answers.size < majority) {
        if (answers.size + silent().length >= majority) return;
        const rest = members.filter((member) => !asked.includes(member));
        if (rest.length > 0) return askAll(rest);
        over = true;
        const causes = [...errors.values()];
        const refusal = causes.find((error) => error instanceof StoreRejectedError);
        const message = `${answers.size} of ${members.length} Redis servers answered, and a majority is needed`;
        reject(refusal ?? new NoMajorityError(message, causes[0], asked));
      } else if (!silent().some((member) => member.prompt)) finish();
      else grace ??= setTimeout(finish, GRACE_MS);
    };
    const askAll = (some: readonly Member[]) => {
      asked.push(...some);
      for (const member of some) {
        ask(member).then(
          (answer) => {
            answers.set(member, answer);
            check();
          },
          (error) => {
            errors.set(member, error);
            check();
          },
        );
      }
    };
    // Who has not answered of late is asked now and then, and when there is no majority without it.
    askAll(members.filter((member) => member.worthAsking()));
    check();
  });
}
