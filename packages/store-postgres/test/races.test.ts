import { eventually, type PostgresServer, startPostgres } from "@onceward/test-servers";
import { Client, type Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type PostgresStore, postgresStore } from "../src/index.ts";
import { claimed, HOUR_MS, mustNotHappen, openPool, request, testing, unique } from "./support.ts";

let server: PostgresServer;
const pools: Pool[] = [];
beforeAll(async () => {
  server = await startPostgres();
  pools.push(
    openPool(server.url),
    openPool(server.url, { options: "-c default_transaction_isolation=repeatable\\ read" }),
  );
  await postgresStore({ client: pools[0]! }).migrate();
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await server.stop();
});

/** A store whose calls are seen by nobody until `commit`. */
async function inTransaction(): Promise<PostgresStore & { commit(): Promise<unknown>; rollback(): Promise<unknown> }> {
  const client = new Client(server.url);
  await client.connect();
  onTestFinished(() => client.end());
  const store = testing(postgresStore({ client, listen: false }));
  await store.ping();
  await client.query("begin");
  return Object.assign(store, { commit: () => client.query("commit"), rollback: () => client.query("rollback") });
}

/** Resolves when the server says that a statement waits for another transaction. */
const somebodyWaits = () =>
  eventually(
    async () =>
      (await server.query("select from pg_stat_activity where wait_event_type = 'Lock' and query like '%take%'"))
        .length > 0,
    { what: "a claim waits for a lock" },
  );

async function abandoned(store: PostgresStore, steps: Record<string, string> = {}) {
  const { id, token, fence } = await claimed(store, { leaseMs: 1 });
  for (const [name, result] of Object.entries(steps)) await store.saveStep(id, token, name, Buffer.from(result));
  await eventually(async () => (await store.find(id))?.state === "abandoned", { what: "the lease is over" });
  return { id, token, fence };
}

describe.each(["read committed", "repeatable read"])(
  "a row that the statement's snapshot doesn't show, %s",
  (level) => {
    const open = () =>
      testing(postgresStore({ client: pools[level === "read committed" ? 0 : 1]!, timeoutMs: 20_000 }));

    it("was claimed meanwhile: the claim is told who runs, and doesn't run", async () => {
      const [store, first, id] = [open(), await inTransaction(), unique()];
      const winner = await first.claim(id, request());
      const late = store.claim(id, request());
      await somebodyWaits();
      await first.commit();
      expect(await late).toMatchObject({ state: "running", fence: (winner as { fence: number }).fence });
    });

    it("was claimed and completed meanwhile: the claim gets the outcome", async () => {
      const [store, first, id] = [open(), await inTransaction(), unique()];
      const { token } = request();
      await first.claim(id, request({ token }));
      const late = store.claim(id, request());
      await somebodyWaits();
      await first.complete(id, token, Buffer.from("done"), HOUR_MS);
      await first.commit();
      expect(await late).toMatchObject({ state: "completed", outcome: new Uint8Array(Buffer.from("done")) });
    });

    it("was claimed by somebody who then vanished: the claim is granted, with a higher fence", async () => {
      const [store, first, id] = [open(), await inTransaction(), unique()];
      const lost = await first.claim(id, request());
      const late = store.claim(id, request());
      await somebodyWaits();
      await first.rollback();
      const granted = await late;
      expect(granted).toMatchObject({ state: "claimed", attempt: 1 });
      expect((granted as { fence: number }).fence).toBeGreaterThan((lost as { fence: number }).fence);
    });

    it("was taken over meanwhile: the claim is told who runs", async () => {
      const [store, first] = [open(), await inTransaction()];
      const { id } = await abandoned(store);
      const winner = await first.claim(id, request());
      expect(winner).toMatchObject({ state: "claimed", attempt: 2 });
      const late = store.claim(id, request());
      await somebodyWaits();
      await first.commit();
      expect(await late).toMatchObject({ state: "running", fence: (winner as { fence: number }).fence });
    });

    it("got a late step meanwhile: the takeover is handed it", async () => {
      const [store, owner] = [open(), await inTransaction()];
      const { id, token } = await abandoned(store, { early: "1" });
      expect(await owner.saveStep(id, token, "late", Buffer.from("2"))).toBe(true);
      const late = store.claim(id, request());
      await somebodyWaits();
      await owner.commit();
      const { steps } = (await late) as { steps?: Map<string, Uint8Array> };
      expect([...(steps ?? [])].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])).toEqual([
        ["early", "1"],
        ["late", "2"],
      ]);
    });

    it("was removed meanwhile: the claim starts afresh, with a higher fence", async () => {
      const [store, operator] = [open(), await inTransaction()];
      const { id, fence } = await abandoned(store, { step: "1" });
      expect(await operator.remove(id)).toBe(true);
      const late = store.claim(id, request());
      await somebodyWaits();
      await operator.commit();
      const granted = await late;
      expect(granted).toMatchObject({ state: "claimed", attempt: 1, takenOver: false });
      expect((granted as { fence: number }).fence).toBeGreaterThan(fence);
    });

    it("got a step while it was released: the release keeps the step", async () => {
      const [store, owner] = [open(), await inTransaction()];
      const { id, token } = await claimed(store);
      await owner.saveStep(id, token, "late", Buffer.from("1"));
      const released = store.release(id, token);
      await eventually(
        async () => (await server.query("select from pg_stat_activity where wait_event_type = 'Lock'")).length > 0,
        { what: "the release waits for the step" },
      );
      await owner.commit();
      expect(await released).toBe(true);
      const next = await store.claim(id, request());
      expect([...((next as { steps?: Map<string, unknown> }).steps?.keys() ?? [])]).toEqual(["late"]);
    });
  },
);

it("a claim that stalls with its fence in hand is not overtaken by a higher one", async () => {
  const [store, operator] = [testing(postgresStore({ client: pools[0]!, timeoutMs: 20_000 })), await inTransaction()];
  const { id } = await abandoned(store);
  await operator.remove(id);
  const stalled = store.claim(id, request());
  await somebodyWaits();
  const [backend] = await server.query("select pid from pg_stat_activity where wait_event_type = 'Lock'");
  process.kill(backend?.["pid"], "SIGSTOP");
  onTestFinished(() => void process.kill(backend?.["pid"], "SIGCONT"));
  await operator.commit();
  const other = store.claim(id, request());
  await mustNotHappen(other);
  process.kill(backend?.["pid"], "SIGCONT");
  const { fence } = (await stalled) as { fence: number };
  expect(await other).toMatchObject({ state: "running", fence });
});

it("time goes on inside a transaction of the caller's: leases end, and are dated by the statement", async () => {
  const store = await inTransaction();
  const { id } = await claimed(store, { leaseMs: 30 });
  const claimedAt = (await store.find(id))?.claimedAt ?? 0;
  await eventually(async () => (await store.find(id))?.state === "abandoned", { what: "the lease is over" });
  expect(await store.claim(id, request())).toMatchObject({ state: "claimed", takenOver: true });
  expect((await store.find(id))?.claimedAt).toBeGreaterThan(claimedAt);
  await store.rollback();
});
