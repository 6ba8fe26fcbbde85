import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type Group, keyed, text } from "./world.ts";

/** H8: what marks a replay, and how long there is one. */
export const replays: Group = (declare) => {
  declare("H8.1 a replay says when the first request came and when its outcome expires", async ({ start }) => {
    const { client } = await start({ options: { ttlMs: 3_600_000 } });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    const [came = 0, expires = 0] = ["x-original-request-time", "x-idempotent-expires"].map((name) =>
      Date.parse(String(replay.headers[name])),
    );
    expect(expires - came).toBeGreaterThan(3_500_000);
    expect(expires - came).toBeLessThan(3_700_000);
    expect(replay.headers["idempotency-key"]).toBe(headers["idempotency-key"]);
    for (const name of ["idempotent-replayed", "x-original-request-time", "x-idempotent-expires"])
      expect(first.headers[name]).toBeUndefined();
  });

  declare("H8.2 the marks have other names, or none, where asked to; and replays another status", async ({ start }) => {
    const { client } = await start({
      options: {
        replay: {
          replayedHeader: "X-Idempotency-Cached",
          keyHeader: false,
          originalTimeHeader: false,
          expiresHeader: "X-Until",
          status: 200,
        },
      },
    });
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.status, replay.headers["x-idempotency-cached"]]).toEqual([200, "true"]);
    expect(Date.parse(String(replay.headers["x-until"]))).toBeGreaterThan(0);
    for (const name of ["idempotency-key", "x-original-request-time", "x-idempotent-expires", "idempotent-replayed"])
      expect(replay.headers[name]).toBeUndefined();
  });

  declare("H8.3 `transformReplay` changes a replay before it is sent", async ({ start }) => {
    const { client } = await start({
      options: {
        transformReplay: (response, { key }) => ({
          status: 208,
          headers: [...response.headers, ["X-Key", key]],
          body: Buffer.concat([response.body, Buffer.from(", again")]),
        }),
      },
    });
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).text).toBe("done");
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.status, replay.text, replay.headers["x-key"]]).toEqual([
      208,
      "done, again",
      headers["idempotency-key"],
    ]);
  });

  declare("H8.4 when its time is over, the operation runs again", async ({ start, until }) => {
    const { client, runs } = await start({
      options: { ttlMs: 40 },
      routeOptions: { ttlMs: 3_600_000 },
      handle: (_context, run) => text(`run ${run}`),
    });
    const headers = keyed();
    await client.send({ path: "/refunds", headers, body: "{}" });
    await client.send({ headers, body: "{}" });
    await until("it runs again", async () => (await client.send({ headers, body: "{}" })).text === "run 3");
    expect((await client.send({ path: "/refunds", headers, body: "{}" })).text).toBe("run 1");
    expect(runs.length).toBeGreaterThan(2);
  });

  declare("H8.5 a request chooses its TTL within bounds, where that is enabled", async ({ start, until }) => {
    const { client, runs } = await start({ options: { ttlHeader: { minMs: 40, maxMs: 60_000 } } });
    const ask = (key: string, ttl: string) =>
      client.send({ headers: keyed(key, { "x-idempotency-ttl": ttl }), body: "{}" });
    for (const ttl of ["39", "60001", "x", "", "-1", "1e3", "1.5"])
      expect((await ask(randomUUID(), ttl)).status).toBe(400);
    expect(runs).toHaveLength(0);
    const key = randomUUID();
    await ask(key, "40");
    // Only the runner's counts.
    await until("it runs again", async () => !(await ask(key, "60000")).replayed);
    expect((await ask(key, "40")).replayed).toBe(true);
  });

  declare("H8.6 unless enabled, the TTL header is nobody's business", async ({ start }) => {
    const { client } = await start();
    expect((await client.send({ headers: keyed(undefined, { "x-idempotency-ttl": "x" }), body: "{}" })).status).toBe(
      201,
    );
  });
};
