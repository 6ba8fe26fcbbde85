import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aesGcmCodec, type Context } from "../../src/index.ts";
import { refused, replyLost } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

describe("steps", () => {
  const reserve = vi.fn(() => ({ seat: 7 }));
  beforeEach(() => void reserve.mockClear());
  const failAfterStep = async ({ step }: Context) => {
    await step("reserve", reserve);
    throw new Error("declined");
  };

  it.each([
    { codec: undefined },
    { codec: aesGcmCodec({ keys: { a: new Uint8Array(32) }, current: "a", hmacSecret: new Uint8Array(32) }) },
  ])("are skipped by the next attempt when done: %o", async ({ codec }) => {
    const { once, events } = world.process({ codec });
    await expect(once.run(name, failAfterStep)).rejects.toThrow("declined");
    const second = await once.run(name, async ({ step, attempt }) => [attempt, await step("reserve", reserve)]);
    expect(second.value).toEqual([2, { seat: 7 }]);
    expect(reserve).toHaveBeenCalledTimes(1);
    expect(events.filter(({ type }) => type === "step")).toMatchObject([
      { step: "reserve", skipped: false },
      { step: "reserve", skipped: true },
    ]);
  });

  it("are skipped after a crash by the one who takes over; a crash before the record repeats the step", async () => {
    const [first, second, third] = [world.process(), world.process(), world.process()];
    void follow(
      first.once.run(name, async ({ step }) => {
        await step("one", reserve);
        first.crash();
        await step("two", reserve);
      }),
    );
    await world.pass(10_000);
    expect(reserve).toHaveBeenCalledTimes(2);
    second.store.everything(undefined);
    const skipped = await second.once.run(name, async ({ step }) => {
      await step("one", reserve);
      return step("two", reserve);
    });
    expect(skipped.value).toEqual({ seat: 7 });
    expect(reserve).toHaveBeenCalledTimes(3);
    expect((await third.once.find(name))?.steps).toEqual([]);
  });

  it("of the same name run once within an attempt, also at the same time; a failed one may be tried again", async () => {
    const { once } = world.process();
    await once.run(name, async ({ step }) => {
      const both = await Promise.all([step("reserve", reserve), step("reserve", reserve)]);
      expect(both).toEqual([{ seat: 7 }, { seat: 7 }]);
      expect(await step("reserve", reserve)).toEqual({ seat: 7 });
      await expect(step("flaky", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
      expect(await step("flaky", () => "yes")).toBe("yes");
      expect(await step("other", () => "other")).toBe("other");
      return 1;
    });
    expect(reserve).toHaveBeenCalledTimes(1);
  });

  it("give the same decoded value as a later attempt gets, or refuse it", async () => {
    const { once } = world.process();
    const call = once.run(name, async ({ step }) => {
      const ids = new Set([1]);
      const copy = await step("ids", () => ids);
      expect(copy).toEqual(ids);
      expect(copy).not.toBe(ids);
      await step("function", () => () => {});
    });
    await expect(call).rejects.toMatchObject({
      code: "ERR_OUTCOME_NOT_ENCODABLE",
      message: expect.stringContaining('"function"'),
    });
  });

  it("do not start once the lease is lost", async () => {
    const { once, store } = world.process();
    store.always("renew", refused());
    const work = controlledWork();
    void follow(once.run(name, work));
    await world.pass(10_000);
    await expect(work.runs[0]?.context.step("reserve", reserve)).rejects.toMatchObject({ code: "ERR_LEASE_LOST" });
    expect(reserve).not.toHaveBeenCalled();
  });

  it("throw LeaseLostError when another has the record by the time they are done", async () => {
    const { once } = world.process();
    const call = once.run(name, ({ step }) => step("reserve", () => once.remove(name)));
    await expect(call).rejects.toMatchObject({ code: "ERR_LEASE_LOST", reason: "superseded" });
  });

  it.each([{ fault: refused() }, { fault: replyLost }])(
    "are recorded again when the store did not answer",
    async ({ fault }) => {
      const { once, store } = world.process();
      store.next("saveStep", fault, fault);
      const call = follow(once.run(name, ({ step }) => step("reserve", reserve)));
      await world.pass(75);
      expect(call.value?.value).toEqual({ seat: 7 });
      expect(reserve).toHaveBeenCalledTimes(1);
    },
  );

  it("throw LeaseLostError when the store can't record them while the lease holds, or refuses", async () => {
    const { once, store } = world.process();
    store.always("renew", refused());
    store.always("saveStep", refused());
    const call = follow(once.run(name, ({ step }) => step("reserve", reserve)));
    await world.pass(30_000);
    expect(call.error).toMatchObject({ code: "ERR_LEASE_LOST", reason: "expired" });
    store.next("saveStep", refused(new Error("disk full")));
    const other = once.run({ ...name, key: "other" }, ({ step }) => step("reserve", reserve));
    await expect(other).rejects.toMatchObject({ code: "ERR_LEASE_LOST" });
  });
});

describe("downstreamKey", () => {
  const keyOf = async ({ downstreamKey }: Context, name: string) => downstreamKey(name);

  it("is the same in every attempt", async () => {
    const { once } = world.process();
    const keys: string[] = [];
    for (let attempt = 0; attempt < 2; attempt++) {
      const call = once.run(name, async (context) => {
        keys.push(await keyOf(context, "stripe"));
        throw new Error("declined");
      });
      await expect(call).rejects.toThrow();
    }
    expect(keys[0]).toBe(keys[1]);
  });

  it("differs by name, key, scope, operation and payload", async () => {
    const { once } = world.process();
    const requests = [
      name,
      { ...name, key: "another" },
      { ...name, scope: "tenant" },
      { ...name, operation: "refund" },
    ];
    const keys = await Promise.all(
      requests.map(async (request) => (await once.run(request, (context) => keyOf(context, "stripe"))).value),
    );
    const two = async (context: Context) => [await keyOf(context, "stripe"), await keyOf(context, "bank")];
    keys.push(...(await once.run({ ...name, key: "fresh" }, two)).value);
    await once.remove({ ...name });
    keys.push((await once.run({ ...name, payload: 2 }, (context) => keyOf(context, "stripe"))).value);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("without a key is one for each name within the run, and another in the next", async () => {
    const { once } = world.process();
    const run = async () =>
      (
        await once.run({ operation: "pay" }, async (context) => {
          expect(context).toMatchObject({ protected: false, key: undefined, fence: 0, attempt: 1 });
          expect(context.signal.aborted).toBe(false);
          expect(await context.step("one", () => 1)).toBe(1);
          return [await keyOf(context, "a"), await keyOf(context, "a"), await keyOf(context, "b")];
        })
      ).value;
    const [first, second] = [await run(), await run()];
    expect(first[0]).toBe(first[1]);
    expect(new Set([...first, ...second]).size).toBe(4);
  });
});

it("the context has key and fence; fences grow with every claim", async () => {
  const { once } = world.process();
  const fences: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const call = once.run(name, (context) => {
      expect(context).toMatchObject({ key: name.key, attempt: 1, protected: true });
      fences.push(context.fence);
      throw new Error("again");
    });
    await expect(call).rejects.toThrow("again");
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
});

describe("a run inside itself", () => {
  it("is rejected, at any depth, instead of waiting for itself", async () => {
    const { once } = world.process({ detectNesting: true });
    const inner = { ...name, key: "inner" };
    const call = once.run(name, () => once.run(inner, () => once.run(name, () => "never")));
    await expect(call).rejects.toMatchObject({ code: "ERR_NESTED_RUN" });
  });

  it("is looked for where that costs nothing", () => {
    const { once } = world.process();
    expect(once.engine.options.detectNesting).toBe(Number.parseInt(process.versions.node, 10) >= 24);
  });

  it("is in progress where nobody looks for it", async () => {
    const { once } = world.process({ detectNesting: false });
    const call = once.run(name, () => once.run({ ...name, waitMs: 0 }, () => "never"));
    await expect(call).rejects.toMatchObject({ code: "ERR_IN_PROGRESS" });
  });

  it("on another store is none", async () => {
    const outer = world.process({ detectNesting: true });
    const inner = createWorld().process({ detectNesting: true });
    const call = await outer.once.run(name, async () => (await inner.once.run(name, () => "inner")).value);
    expect(call.value).toBe("inner");
  });

  it("of another key, and after the outer one, is none", async () => {
    const { once } = world.process({ detectNesting: true });
    const outer = await once.run(name, () => once.run({ ...name, key: "inner" }, () => "inner"));
    expect(outer.value).toEqual({ value: "inner", replayed: false });
    expect((await once.run(name, () => outer.value)).replayed).toBe(true);
  });

  it("is none when the outer work has ended and only left something behind, such as a timer", async () => {
    const { once } = world.process({ detectNesting: true });
    let ended = () => {};
    const leftBehind = new Promise<void>((resolve) => {
      ended = resolve;
    });
    let later: Promise<unknown> | undefined;
    await once.run(name, () => {
      later = leftBehind.then(() => once.run(name, () => "again"));
      return "first";
    });
    ended();
    await expect(later).resolves.toEqual({ value: "first", replayed: true });
  });
});
