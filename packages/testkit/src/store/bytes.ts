import { expect } from "vitest";
import { bytes, claimed, expectBytes, type Group, hourMs, request, unique } from "./context.ts";

const allBytes = Uint8Array.from({ length: 256 }, (_, n) => n);

/** Bytes that look random and are the same for the same seed: mulberry32. */
export function randomBytes(length: number, seed: number): Uint8Array {
  let state = seed >>> 0;
  return Uint8Array.from({ length }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) & 0xff;
  });
}

/** S9: what comes back is what was given. */
export const exactBytes: Group = (declare, { seed = 1 }) => {
  const samples: Readonly<Record<string, Uint8Array>> = {
    "no bytes": new Uint8Array(),
    "one zero byte": Uint8Array.of(0),
    "every byte": allBytes,
    "what is not UTF-8": Uint8Array.of(0xff, 0xfe, 0xc3, 0x28, 0x80, 0xed, 0xa0, 0x80),
    "a byte order mark and line ends": bytes("\ufeffone\r\ntwo\n\u0000three\u2028"),
    "what looks like syntax": bytes(`\\x00'"\`$1 {"a":[null]} NULL \\N <!-- */ ;--`),
  };

  declare("S9.1 outcomes come back byte for byte: empty, binary, not UTF-8", async ({ store, another }) => {
    const other = await another();
    for (const [what, outcome] of Object.entries(samples)) {
      const [id, token] = [unique(), unique()];
      await claimed(store, id, request({ token }));
      expect(await store.complete(id, token, outcome, hourMs), what).toBe(true);
      expectBytes((await other.find(id))?.outcome, outcome);
      const replay = await other.claim(id, request());
      expect(replay.state, what).toBe("completed");
      expectBytes((replay as { outcome: Uint8Array }).outcome, outcome);
    }
  });

  declare("S9.2 steps come back byte for byte: empty, binary, not UTF-8", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    for (const [what, result] of Object.entries(samples)) {
      expect(await store.saveStep(id, token, what, result)).toBe(true);
    }
    await store.release(id, token);
    const { steps } = await claimed(store, id, request());
    expect(steps?.size).toBe(Object.keys(samples).length);
    for (const [what, result] of Object.entries(samples)) expectBytes(steps?.get(what), result);
  });

  declare(`S9.3 1 MiB of random bytes comes back (seed ${seed})`, async ({ store }) => {
    const [id, token, next] = [unique(), unique(), unique()];
    const [result, outcome] = [randomBytes(2 ** 20, seed), randomBytes(2 ** 20, seed + 1)];
    await claimed(store, id, request({ token }));
    expect(await store.saveStep(id, token, "large", result)).toBe(true);
    await store.release(id, token);
    const { steps } = await claimed(store, id, request({ token: next }));
    expectBytes(steps?.get("large"), result);
    expect(await store.complete(id, next, outcome, hourMs)).toBe(true);
    expectBytes((await store.find(id))?.outcome, outcome);
  });

  declare("S9.4 the caller may reuse its buffer, and change what it was handed", async ({ store }) => {
    const [id, token, next, last] = [unique(), unique(), unique(), unique()];
    // A view into a larger buffer, as sockets and pools hand them out.
    const buffer = Buffer.from("..first..").subarray(2, 7);
    await claimed(store, id, request({ token }));
    expect(await store.saveStep(id, token, "step", buffer)).toBe(true);
    buffer.fill(0);
    await store.release(id, token);
    const { steps } = await claimed(store, id, request({ token: next }));
    expectBytes(steps?.get("step"), bytes("first"));
    steps?.get("step")?.fill(0);
    await store.release(id, next);
    expectBytes((await claimed(store, id, request({ token: last }))).steps?.get("step"), bytes("first"));
    buffer.set(bytes("again"));
    expect(await store.complete(id, last, buffer, hourMs)).toBe(true);
    buffer.fill(0);
    const found = await store.find(id);
    expectBytes(found?.outcome, bytes("again"));
    found?.outcome?.fill(0);
    expectBytes((await store.find(id))?.outcome, bytes("again"));
  });

  declare("S9.5 steps may have any name: of other scripts, of object members, long, alike", async ({ store }) => {
    const names = [
      "a",
      "A",
      "__proto__",
      "constructor",
      "a:b",
      "a b",
      " a",
      "ünï ☃ 👩‍🚀",
      `'";--\\`,
      "\n\t",
      "%s{}*",
      "1",
      "01",
    ];
    names.push("e\u0301", "\u00e9", "x".repeat(255));
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    for (const name of names) expect(await store.saveStep(id, token, name, bytes(`of ${name}`))).toBe(true);
    expect([...((await store.find(id))?.steps ?? [])].sort()).toEqual([...names].sort());
    await store.release(id, token);
    const { steps } = await claimed(store, id, request());
    expect([...(steps?.keys() ?? [])].sort()).toEqual([...names].sort());
    for (const name of names) expectBytes(steps?.get(name), bytes(`of ${name}`));
  });

  declare("S9.6 a label comes back as it was given, and stays through completion", async ({ store }) => {
    for (const label of ["refund 550e****0000", "ünï ☃ 👩‍🚀", `'";--\\ {"a":1}`, "x".repeat(255), undefined]) {
      const [id, token] = [unique(), unique()];
      await claimed(store, id, request({ token, label }));
      expect((await store.find(id))?.label).toBe(label);
      await store.complete(id, token, bytes("done"), hourMs);
      expect((await store.find(id))?.label).toBe(label);
    }
  });

  declare("S9.7 key facts are fixed at the claim and kept through completion", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    const { fence } = await claimed(store, id, request({ token, fingerprint: "first" }));
    const running = await store.find(id);
    await store.complete(id, token, bytes("done"), hourMs);
    const replay = await store.claim(id, request({ fingerprint: "other" }));
    expect(replay).toMatchObject({ state: "completed", fingerprint: "first" });
    const { claimedAt } = running!;
    expect(await store.find(id)).toMatchObject({ id, token, fingerprint: "first", fence, attempt: 1, claimedAt });
  });
};
