import { memoryStore } from "@onceward/store-memory";
import { expect, it } from "vitest";
import { onceward } from "../src/index.ts";

it("runs once", async () => {
  const once = onceward({ store: memoryStore() });
  let ran = 0;
  const call = () => once.run({ operation: "a", key: "k" }, async () => ({ n: ++ran }));
  const results = await Promise.all([call(), call(), call()]);
  expect(ran).toBe(1);
  expect(results.map((r) => r.value.n)).toEqual([1, 1, 1]);
  expect((await call()).replayed).toBe(true);
  await once.close();
});
