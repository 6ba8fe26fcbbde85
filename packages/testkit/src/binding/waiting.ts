import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { problemOf } from "./errors.ts";
import { door, type Group, keyed, text } from "./world.ts";

/** H10: duplicates while the first one runs, in one process and in several. */
export const waiting: Group = (declare, { startProcess }) => {
  declare("H10.1 a duplicate waits, and gets the first one's outcome", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, runs, events } = await start({
      handle: async () => {
        await opened;
        return text("slow");
      },
    });
    const headers = keyed();
    const both = [client.send({ headers, body: "{}" }), client.send({ headers, body: "{}" })];
    await until("one runs, one waits", () => runs.length === 1 && events("waiting").length === 1);
    open();
    const replies = await Promise.all(both);
    expect(replies.map((reply) => reply.text)).toEqual(["slow", "slow"]);
    expect(replies.map((reply) => reply.replayed).sort()).toEqual([false, true]);
    expect(runs).toHaveLength(1);
  });

  declare("H10.2 without waiting it is rejected at once, with Retry-After", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, runs } = await start({
      options: { waitMs: 0 },
      routeOptions: { waitMs: 30 },
      handle: async () => {
        await opened;
        return text("slow");
      },
    });
    const headers = keyed();
    const paths = ["/orders", "/refunds"];
    const firsts = paths.map((path) => client.send({ path, headers, body: "{}" }));
    await until("both handlers run", () => runs.length === 2);
    for (const path of paths) {
      const reply = await client.send({ path, headers, body: "{}" });
      expect(reply.status).toBe(409);
      expect(reply.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
      expect(problemOf(reply)).toMatchObject({ code: "ERR_IN_PROGRESS", retryable: true });
    }
    open();
    expect((await Promise.all(firsts)).map((reply) => reply.text)).toEqual(["slow", "slow"]);
    for (const path of paths) expect((await client.send({ path, headers, body: "{}" })).replayed).toBe(true);
  });

  declare("H10.3 no more than `maxWaiters` wait", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, events } = await start({
      options: { maxWaiters: 2 },
      handle: async () => {
        await opened;
        return text("slow");
      },
    });
    const headers = keyed();
    const three = [1, 2, 3].map(() => client.send({ headers, body: "{}" }));
    await until("two wait", () => events("waiting").length === 2);
    const reply = await client.send({ headers, body: "{}" });
    expect([reply.status, problemOf(reply)["code"]]).toEqual([429, "ERR_TOO_MANY_WAITERS"]);
    expect(reply.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    open();
    expect((await Promise.all(three)).map(({ status }) => status)).toEqual([201, 201, 201]);
  });

  declare("H10.4 after a status that is not kept, one of those who wait runs", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, runs, events } = await start({
      handle: async (_context, run) => {
        await opened;
        return text(`run ${run}`, run === 1 ? 500 : 201);
      },
    });
    const headers = keyed();
    const all = [1, 2, 3].map(() => client.send({ headers, body: "{}" }));
    await until("two wait", () => events("waiting").length === 2);
    open();
    const replies = (await Promise.all(all)).map((reply) => reply.text).sort();
    expect(replies).toEqual(["run 1", "run 2", "run 2"]);
    expect(runs).toHaveLength(2);
  });

  declare("H10.5 of 1,000 concurrent duplicates one runs", async ({ start }) => {
    const { client, runs } = await start({ options: { maxWaiters: 1_000 } });
    const headers = keyed();
    const replies = await Promise.all(Array.from({ length: 1_000 }, () => client.send({ headers, body: "{}" })));
    expect(runs).toHaveLength(1);
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(["201 done"]));
    expect(replies.filter((reply) => reply.replayed)).toHaveLength(999);
  });

  declare("H10.6 one runs behind two servers on one store", async ({ start }) => {
    const handle = () => text("one of us");
    const [one, two] = await Promise.all([start({ handle }), start({ handle })]);
    const headers = keyed();
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? one : two).client.send({ headers, body: "{}" })),
    );
    expect(one.runs.length + two.runs.length).toBe(1);
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(["201 one of us"]));
    expect(replies.filter((reply) => reply.replayed)).toHaveLength(39);
  });

  if (!startProcess) return;

  declare("H10.7 one runs in two processes, also when one of them dies", async ({ startProcess }) => {
    const leaseMs = 300;
    const [one, two] = await Promise.all([startProcess({ leaseMs }), startProcess({ leaseMs })]);
    const headers = keyed();
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? one : two).client.send({ headers, body: '{"workMs":20}' })),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    expect([String(one.pid), String(two.pid)]).toContain(replies[0]?.text);
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter((reply) => reply.replayed)).toHaveLength(39);

    const key = randomUUID();
    const body = '{"workMs":60000}';
    const interrupted = one.client.open();
    interrupted.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await interrupted.until(new RegExp(`\\b${one.pid}\\b`));
    const waiter = two.client.send({ headers: keyed(key), body });
    await one.kill();
    expect(await interrupted.ended()).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(await waiter).toMatchObject({ status: 201, text: String(two.pid), replayed: false });
    expect(await two.client.send({ headers: keyed(key), body })).toMatchObject({ replayed: true });
  });
};
