import { expect } from "vitest";
import { codeOf, everyCall } from "./closing.ts";
import { bytes, claimed, type Group, hourMs, request, unique } from "./context.ts";
import { eventually, within } from "./waiting.ts";

/** S12: the server can't be reached. Needs `outage`. */
export const outages: Group = (declare, suite) => {
  const { outage } = suite;
  if (!outage) return;

  /** Runs while the server is away, and brings it back whatever happens. */
  const during = async (run: () => Promise<void>) => {
    await outage.begin();
    try {
      await run();
    } finally {
      await outage.end();
    }
  };

  declare(
    "S12.1 without its server every method rejects with StoreUnavailableError, and none hangs",
    async (context) => {
      const { store, patienceMs } = context;
      const [id, token] = [unique(), unique()];
      await claimed(store, id, request({ token }));
      await during(async () => {
        // A watch may resolve as well: it promises nothing but that the caller should look again.
        const { watch, ...calls } = everyCall(store, id, token);
        const ended = Object.entries(calls).map(async ([name, call]) => {
          const code = await within(`${name} without a server`, codeOf(call()), patienceMs);
          return `${name}: ${code}`;
        });
        const expected = Object.keys(calls).map((name) => `${name}: ERR_STORE_UNAVAILABLE`);
        expect(await Promise.all(ended)).toEqual(expected);
      });
    },
  );

  declare("S12.2 when the server is back, the same store works again", async ({ store, patienceMs }) => {
    await store.ping();
    await during(async () => {
      expect(await within("ping without a server", codeOf(store.ping()), patienceMs)).toBe("ERR_STORE_UNAVAILABLE");
    });
    const answers = async () => (await codeOf(store.ping())) === "resolved";
    await eventually("the store works again", answers, 3 * patienceMs);
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    expect(await store.complete(id, token, bytes("done"), hourMs)).toBe(true);
    expect((await store.find(id))?.state).toBe("completed");
  });

  declare("S12.3 a claim that was given up is held by nobody afterwards", async ({ store, patienceMs }) => {
    await store.ping();
    const id = unique();
    await during(async () => {
      const code = await within("claim without a server", codeOf(store.claim(id, request())), patienceMs);
      expect(code).toBe("ERR_STORE_UNAVAILABLE");
    });
    const granted = async () => {
      const claim = store.claim(id, request());
      return (await codeOf(claim)) === "resolved" && (await claim).state === "claimed";
    };
    await eventually("the id can be claimed", granted, 3 * patienceMs);
  });

  declare(
    "S12.4 a watch under way ends when the connection was lost",
    async ({ store, another, patienceMs }) => {
      const other = await another();
      const [id, token] = [unique(), unique()];
      const { fence } = await claimed(store, id, request({ token }));
      const watch = codeOf(other.watch(id, fence, new AbortController().signal));
      await during(async () => {
        await within("ping without a server", codeOf(store.ping()), patienceMs);
      });
      const completed = async () => (await codeOf(store.complete(id, token, bytes("done"), hourMs))) === "resolved";
      await eventually("the store works again", completed, 3 * patienceMs);
      await within("watch after an outage", watch, 3 * patienceMs);
    },
    "watch",
  );
};
