import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { describe, expect, it } from "vitest";
import { encodeResponse } from "../../src/http/outcome.ts";
import type { HttpDecision, OncewardEvent } from "../../src/index.ts";
import { answer, finish, header, keyed, problem, setUp } from "./harness.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const run = (decision: HttpDecision | undefined) => {
  if (decision?.kind !== "run") throw new Error("expected to run");
  return decision;
};

describe("HttpRecording", () => {
  it("copies bytes, which frameworks reuse, and takes text as UTF-8", async () => {
    const { enter } = setUp();
    const { recording } = run(await enter(keyed()));
    const buffer = Buffer.from("one ");
    recording.write(buffer);
    buffer.fill("x");
    recording.write("twö");
    recording.write("");
    expect(recording.ended).toBe(false);
    await recording.finish(200, []);
    expect(recording.ended).toBe(true);
    expect(text(answer(await enter(keyed())).body)).toBe("one twö");
  });

  it("ends once: what comes later changes nothing", async () => {
    const { enter } = setUp();
    const { recording } = run(await enter(keyed()));
    const ends = [recording.finish(201, []), recording.finish(500, []), recording.fail(), recording.abandon()];
    recording.write("late");
    expect(await Promise.all(ends)).toEqual([undefined, undefined, undefined, undefined]);
    expect(answer(await enter(keyed()))).toMatchObject({ status: 201, body: new Uint8Array() });
  });

  it.each([
    ["keep", { keep: () => fail() }],
    ["keepHeaders", { keepHeaders: () => fail() }],
  ])("lets the default decide and says so when %s throws: a success must not run again", async (_name, options) => {
    const { once, enter } = setUp(options);
    const events: OncewardEvent[] = [];
    once.on("*", (event) => void events.push(event));
    expect(await finish(await enter(keyed()), 200, [["X-A", "1"]])).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["claimed", "store-error", "completed"]);
    expect(events[1]).toMatchObject({ error: { code: "ERR_INVALID_OPTION", cause: { message: "on purpose" } } });
    expect(header(answer(await enter(keyed())), "X-A")).toEqual(["1"]);
  });

  it("releases a failure when keep throws, as by default", async () => {
    const { enter } = setUp({ keep: () => fail() });
    await finish(await enter(keyed()), 500, []);
    await run(await enter(keyed())).recording.fail();
  });

  it("asks `keep` with status and headers", async () => {
    const asked: unknown[] = [];
    const { enter } = setUp({ keep: (...parts) => asked.push(parts) > 0 });
    await finish(await enter(keyed()), 202, [["X-A", "1"]]);
    expect(asked).toEqual([[202, [["X-A", "1"]]]]);
  });

  it("says that a response was too large, and how large", async () => {
    const { once, enter } = setUp({ maxOutcomeBytes: 10 });
    const events: unknown[] = [];
    once.on("oversize", ({ bytes, limit, reason }) => void events.push({ bytes, limit, reason }));
    await finish(await enter(keyed()), 200, [], "eleven char");
    expect(events).toEqual([{ bytes: 11, limit: 10, reason: "too-large" }]);
    expect(problem(answer(await enter(keyed())))).toMatchObject({ status: 507, retryable: false });
  });

  describe("when another runner has taken over", () => {
    /** A runner that sleeps through its lease, and one in another process that takes over and completes. */
    async function superseded(options: Parameters<typeof setUp>[0]) {
      const backend = memoryBackend();
      const [slow, quick] = [setUp(options, memoryStore({ backend })), setUp(options, memoryStore({ backend }))];
      const first = run(await slow.enter(keyed()));
      const name = { operation: "POST /orders", key: "k" };
      const record = await quick.once.find(name);
      await quick.once.engine.options.store.renew(record?.id ?? "", record?.token ?? "", 1);
      await new Promise((resolve) => setTimeout(resolve, 2));
      await finish(await quick.enter(keyed()), 202, [["X-Who", "winner"]], "winner");
      first.recording.write("loser");
      return { slow, winner: await first.recording.finish(201, []) };
    }

    it("answers with the winner's response, marked as a replay", async () => {
      const { winner } = await superseded({});
      expect(winner).toMatchObject({ status: 202 });
      expect(winner && [text(winner.body), header(winner, "idempotent-replayed")]).toEqual(["winner", ["true"]]);
    });

    it("lets its own response stand when transformReplay throws", async () => {
      const { winner } = await superseded({ transformReplay: () => fail() });
      expect(winner).toBeUndefined();
    });
  });
});

describe("what is stored", () => {
  it("answers 400 for a key that belongs to work outside HTTP", async () => {
    const { once, enter } = setUp({ fingerprint: false });
    await once.run({ operation: "POST /orders", key: "k", fingerprint: "any" }, () => 1);
    expect(problem(answer(await enter(keyed())))).toMatchObject({ status: 400, code: "ERR_KEY_INVALID" });
  });

  it("tells of a damaged response instead of sending one", async () => {
    const { once, enter } = setUp({ fingerprint: false });
    const { execution } = (await once.engine.enter(await operation(once), once.engine.options.policy)) as never as {
      execution: { complete(outcome: { kind: "http"; payload: Uint8Array }): Promise<unknown> };
    };
    await execution.complete({ kind: "http", payload: Uint8Array.of(0, 0, 0, 9, 1) });
    await expect(enter(keyed())).rejects.toMatchObject({ code: "ERR_STORE_REJECTED" });
  });

  it("knows heads of any length", () => {
    const headers = [["X-Long", "y".repeat(70_000)]] as const;
    const encoded = encodeResponse({ status: 200, headers, requestedAt: 1 }, []);
    expect([...encoded.subarray(0, 4)]).toEqual([
      0,
      1,
      ...Uint8Array.of((encoded.length - 4) >>> 8, encoded.length - 4),
    ]);
  });
});

function fail(): never {
  throw new Error("on purpose");
}

async function operation({ engine }: { engine: { hash: unknown; options: { namespace: string } } }) {
  const { recordId } = await import("../../src/keys.ts");
  const name = { namespace: engine.options.namespace, scope: undefined, operation: "POST /orders", key: "k" };
  const id = await recordId(engine.hash as never, name);
  return { ...name, id, fingerprint: "any" };
}
