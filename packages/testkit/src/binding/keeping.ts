import { keepAll, keepDeterministic } from "@onceward/core";
import { expect } from "vitest";
import { type Group, keyed, text } from "./world.ts";

/** H5: which responses are kept. */
export const keeping: Group = (declare) => {
  declare("H5.1 2xx and 3xx are kept, other statuses let the next attempt run", async ({ start }) => {
    const { client, runs } = await start({
      handle: (_context, run) => text(`run ${run}`, [400, 409, 422, 500, 503, 202][run - 1] ?? 599),
    });
    const headers = keyed();
    const replies = [];
    for (let count = 0; count < 7; count++) replies.push(await client.send({ headers, body: "{}" }));
    expect(replies.map(({ status }) => status)).toEqual([400, 409, 422, 500, 503, 202, 202]);
    expect(replies.map(({ replayed }) => replayed)).toEqual([false, false, false, false, false, false, true]);
    expect(runs).toHaveLength(6);
  });

  declare("H5.2 an error lets the next attempt run", async ({ start }) => {
    const { client, runs } = await start({
      handle: (_context, run) => {
        if (run === 1) throw new Error("on purpose");
        return text("at last");
      },
    });
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).status).toBe(500);
    expect((await client.send({ headers, body: "{}" })).text).toBe("at last");
    expect((await client.send({ headers, body: "{}" })).replayed).toBe(true);
    expect(runs).toHaveLength(2);
  });

  declare("H5.3 `keep` decides, for the app and for a route", async ({ start }) => {
    const { client, runs } = await start({
      options: { keep: keepAll },
      routeOptions: { keep: keepDeterministic },
      handle: (_context, run) => text(`run ${run}`, run === 2 ? 409 : 500),
    });
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.status, replay.text, replay.replayed]).toEqual([500, "run 1", true]);
    for (const replayed of [false, true])
      expect(await client.send({ path: "/refunds", headers, body: "{}" })).toMatchObject({ status: 409, replayed });
    const others = keyed();
    for (const replayed of [false, false])
      expect(await client.send({ path: "/refunds", headers: others, body: "{}" })).toMatchObject({ replayed });
    expect(runs).toHaveLength(4);
  });

  declare("H5.4 with `keepAll` a thrown error's response is kept too", async ({ start }) => {
    const { client, runs } = await start({
      options: { keep: keepAll },
      handle: () => {
        throw new Error("on purpose");
      },
    });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect(first.status).toBe(500);
    expect([replay.status, replay.text, replay.replayed]).toEqual([500, first.text, true]);
    expect(runs).toHaveLength(1);
  });

  declare("H5.5 a response over the limit is answered with 507 from then on, and runs once", async ({ start }) => {
    const large = new Uint8Array(2_000).fill(1);
    async function* chunks() {
      for (let count = 0; count < 10; count++) yield large.subarray(0, 200);
    }
    const { client, runs, events } = await start({
      options: { maxOutcomeBytes: 1_000 },
      handle: (_context, run) => ({ status: 200, body: run === 1 ? large : chunks() }),
    });
    for (const headers of [keyed(), keyed()]) {
      expect((await client.send({ headers, body: "{}" })).body.equals(large)).toBe(true);
      const replay = await client.send({ headers, body: "{}" });
      expect([replay.status, replay.headers["retry-after"]]).toEqual([507, undefined]);
    }
    expect(runs).toHaveLength(2);
    expect(events("oversize")).toHaveLength(2);
  });
};
