import { expect } from "vitest";
import { problemOf } from "./errors.ts";
import { everyCall } from "./faults.ts";
import { door, type Group, keyed, text } from "./world.ts";

/** H14: a store that is away, and leases that are lost. */
export const failures: Group = (declare) => {
  declare("H14.1 without a store protected requests are refused, others run", async ({ start }) => {
    const { client, runs, faults } = await start();
    for (const call of everyCall) faults.down.add(call);
    const headers = keyed();
    const reply = await client.send({ headers, body: "{}" });
    expect(reply.status).toBe(503);
    expect(problemOf(reply)).toMatchObject({ code: "ERR_STORE_UNAVAILABLE", retryable: true });
    expect(reply.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    expect(runs).toHaveLength(0);
    expect((await client.send({ body: "{}", headers: { "content-type": "application/json" } })).status).toBe(201);
    faults.down.clear();
    expect((await client.send({ headers, body: "{}" })).status).toBe(201);
  });

  declare("H14.2 with `failOpen` they run all the same, and are kept when the store is back", async (bench) => {
    const { client, runs, faults, events } = await bench.start({
      options: { failOpen: true, completeWaitMs: 10, leaseMs: 100 },
    });
    for (const call of everyCall) faults.down.add(call);
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).text).toBe("done");
    expect([runs[0]?.protected, events("failed-open").length]).toEqual([true, 1]);
    faults.down.clear();
    await bench.until("the outcome is kept", () => events("completed").length === 1);
    expect((await client.send({ headers, body: "{}" })).replayed).toBe(true);
    expect(runs).toHaveLength(1);
  });

  declare("H14.3 a store that is lost before the outcome is kept costs nobody the answer", async ({ start, until }) => {
    const { client, runs, faults, events } = await start({ options: { completeWaitMs: 10, leaseMs: 100 } });
    faults.down.add("complete");
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).text).toBe("done");
    expect(events("store-error").length).toBeGreaterThan(0);
    expect((await client.send({ headers, body: "{}" })).replayed).toBe(true);
    faults.down.clear();
    await until("the outcome is kept", () => events("completed").length === 1);
    expect((await client.send({ headers, body: "{}" })).replayed).toBe(true);
    expect(runs).toHaveLength(1);
  });

  for (const [index, sent] of (["nothing", "bytes"] as const).entries()) {
    const stands = sent === "nothing" ? "the winner's outcome answers" : "its own response stands";
    declare(
      `H14.${4 + index} a runner that was replaced after it sent ${sent}: ${stands}`,
      async ({ start, until }) => {
        const { open, opened } = door();
        async function* streamed() {
          yield Buffer.from("the ");
          await opened;
          yield Buffer.from("loser");
        }
        const slow = await start({
          options: { leaseMs: 50 },
          handle: async (context) => {
            // Asked for, so that the signal exists when the lease is lost.
            void context.signal;
            if (sent === "bytes") return { status: 200, headers: [["Content-Type", "text/plain"]], body: streamed() };
            await opened;
            return text("the loser", 200, [["X-Loser", "1"]]);
          },
          before: [["X-Exchange", "slow"]],
        });
        const other = await start({
          options: { leaseMs: 10_000 },
          handle: () => text("the winner", 201, [["X-Winner", "1"]]),
          before: [["X-Exchange", "other"]],
        });
        slow.faults.down.add("renew");
        const headers = keyed();
        const first = slow.client.send({ headers, body: "{}" });
        await until("the lease is lost", () => slow.runs[0]?.signal.aborted === true);
        const winner = await other.client.send({ headers, body: "{}" });
        expect([winner.text, other.runs[0]?.attempt]).toEqual(["the winner", 2]);
        expect(other.runs[0]?.fence).toBeGreaterThan(slow.runs[0]?.fence ?? 0);
        open();
        const answer = await first;
        expect(answer.text).toBe(sent === "nothing" ? "the winner" : "the loser");
        expect(answer.status).toBe(sent === "nothing" ? 201 : 200);
        expect(answer.headers["x-exchange"]).toBe("slow");
        if (sent === "nothing")
          expect([answer.headers["x-winner"], answer.headers["x-loser"]]).toEqual(["1", undefined]);
        expect((await slow.client.send({ headers, body: "{}" })).text).toBe("the winner");
      },
    );
  }

  declare("H14.6 a lease is renewed for as long as the handler runs", async ({ start, until }) => {
    const { open, opened } = door();
    const handle = async () => {
      await opened;
      return text("slow but alive");
    };
    const one = await start({ options: { leaseMs: 500 }, handle });
    const two = await start({ options: { leaseMs: 500 }, handle });
    const headers = keyed();
    const first = one.client.send({ headers, body: "{}" });
    await until("the handler runs", () => one.runs.length === 1);
    const waiter = two.client.send({ headers, body: "{}" });
    await until("the lease was renewed", () => one.events("lease-renewed").length > 0);
    open();
    expect((await Promise.all([first, waiter])).map((reply) => reply.text)).toEqual([
      "slow but alive",
      "slow but alive",
    ]);
    if (one.events("lease-lost").length === 0) expect(two.runs).toHaveLength(0);
  });

  declare("H14.7 a closed Onceward says so", async ({ start }) => {
    const { client, once, runs } = await start();
    await once.close();
    const reply = await client.send({ headers: keyed(), body: "{}" });
    expect([reply.status, problemOf(reply)["retryable"], runs.length]).toEqual([503, true, 0]);
  });
};
