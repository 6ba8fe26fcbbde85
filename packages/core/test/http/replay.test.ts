import { describe, expect, it } from "vitest";
import { addToReplay, type HeaderList } from "../../src/index.ts";
import { answer, finish, header, keyed, setUp } from "./harness.ts";

const info = { key: "k", requestedAt: new Date(0), completedAt: new Date(1), expiresAt: new Date(2) };
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("replays", () => {
  it.each([
    [201, 200],
    [204, 200],
    [302, 302],
    [409, 409],
  ])("with a status of their own say so of successes only: %i becomes %i", async (first, replayed) => {
    const { enter } = setUp({ replay: { status: 200 }, keep: () => true });
    await finish(await enter(keyed()), first);
    expect(answer(await enter(keyed())).status).toBe(replayed);
  });

  it("are marked under names of your choice, or not at all", async () => {
    const { enter } = setUp({
      header: ["X-Key", "Idempotency-Key"],
      replay: { replayedHeader: false, originalTimeHeader: "X-First", expiresHeader: "X-Until" },
    });
    await finish(await enter(keyed()));
    const replay = answer(await enter(keyed()));
    expect(replay.headers.map(([name]) => name)).toEqual(["X-Key", "X-First", "X-Until"]);
  });

  it("pass through transformReplay, which gets to know the times", async () => {
    const startedAt = Date.now();
    const { enter } = setUp({
      ttlMs: 1_000,
      transformReplay: async (response, { requestedAt, completedAt, expiresAt }) => ({
        ...response,
        body: new TextEncoder().encode(JSON.stringify([requestedAt, completedAt, expiresAt])),
      }),
    });
    await finish(await enter(keyed()));
    const times = (JSON.parse(text(answer(await enter(keyed())).body)) as string[]).map((time) => Date.parse(time));
    expect(times[0]).toBeGreaterThanOrEqual(startedAt);
    expect(times[1]).toBeGreaterThanOrEqual(times[0] as number);
    expect(times[2]).toBe((times[1] as number) + 1_000);
  });
});

describe("addToReplay", () => {
  const add = addToReplay(({ key }) => ({ key, idempotent: true }));
  const change = async (body: string, headers: HeaderList = []) =>
    add({ status: 200, headers, body: new TextEncoder().encode(body) }, info);

  it("sets members of a JSON object, and drops what was true of the former body only", async () => {
    const headers: HeaderList = [
      ["ETag", '"1"'],
      ["X-A", "1"],
    ];
    const changed = await change('{"key":"old","a":1}', headers);
    expect(JSON.parse(text(changed.body))).toEqual({ key: "k", a: 1, idempotent: true });
    expect(header(changed, "x-a")).toEqual(["1"]);
    expect(header(changed, "etag")).toEqual([]);
  });

  it.each(["", "[1]", "null", '"text"', "not JSON"])("leaves %j as it is", async (body) => {
    expect(text((await change(body)).body)).toBe(body);
  });

  it("leaves a compressed body as it is", async () => {
    expect(text((await change("{}", [["Content-Encoding", "gzip"]])).body)).toBe("{}");
  });
});
