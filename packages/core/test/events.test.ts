import { memoryStore } from "@onceward/store-memory";
import { describe, expect, expectTypeOf, it } from "vitest";
import { EventHub } from "../src/events.ts";
import { type EventName, type EventOf, type OncewardEvent, onceward } from "../src/index.ts";

const event: OncewardEvent = { type: "swept", removed: 1, durationMs: 2, at: 3 };

describe("listeners", () => {
  it("get the events they asked for, or all", () => {
    const hub = new EventHub();
    const heard: string[] = [];
    hub.on("swept", () => heard.push("swept"));
    hub.on("circuit", () => heard.push("circuit"));
    hub.on("*", ({ type }) => heard.push(`* ${type}`));
    hub.emit(event);
    expect(heard).toEqual(["swept", "* swept"]);
  });

  it("that throw or reject harm neither the others nor the process", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const hub = new EventHub();
    const heard: string[] = [];
    hub.on("swept", () => {
      throw new Error("listener");
    });
    hub.on("swept", async () => {
      throw new Error("async listener");
    });
    hub.on("swept", () => heard.push("third"));
    hub.on("*", () => heard.push("all"));
    expect(() => hub.emit(event)).not.toThrow();
    expect(heard).toEqual(["third", "all"]);
    // Unhandled rejections are reported before the next turn of the loop.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it("hear nothing after they unsubscribed, and cost nothing then", () => {
    const hub = new EventHub();
    const heard: string[] = [];
    expect(hub.listening).toBe(false);
    const first = hub.on("swept", () => heard.push("first"));
    const second = hub.on("*", () => heard.push("second"));
    first();
    first();
    expect(hub.listening).toBe(true);
    hub.emit(event);
    second();
    expect(hub.listening).toBe(false);
    hub.emit(event);
    expect(heard).toEqual(["second"]);
  });
});

describe("a run", () => {
  it("is not harmed by a listener, and tells what happened with the key masked", async () => {
    const once = onceward({ store: memoryStore() });
    const heard: OncewardEvent[] = [];
    once.on("*", (one) => {
      heard.push(one);
      throw new Error("listener");
    });
    const run = () => once.run({ operation: "pay", scope: "tenant", key: "550e8400-e29b-0000" }, () => 1);
    await run();
    expect(await run()).toEqual({ value: 1, replayed: true });
    expect(heard.map(({ type }) => type)).toEqual(["claimed", "completed", "replayed"]);
    for (const one of heard) expect(one).toMatchObject({ operation: "pay", scope: "tenant", key: "550e****0000" });
    expect(JSON.stringify(heard)).not.toContain("e29b");
    await once.close();
  });
});

describe("types of events", () => {
  it("are a closed, discriminated union", () => {
    expectTypeOf<EventName>().toEqualTypeOf<
      | "claimed"
      | "abandoned"
      | "completed"
      | "released"
      | "replayed"
      | "conflict"
      | "waiting"
      | "waited"
      | "wait-timeout"
      | "too-many-waiters"
      | "outcome-unknown"
      | "lease-renewed"
      | "lease-lost"
      | "step"
      | "oversize"
      | "failed-open"
      | "store-error"
      | "header-dropped"
      | "circuit"
      | "store-warning"
      | "swept"
    >();
    expectTypeOf<EventOf<"replayed">["via"]>().toEqualTypeOf<"store" | "join">();
    expectTypeOf<EventOf<"lease-lost">["reason"]>().toEqualTypeOf<"superseded" | "expired" | "max-run">();
    expectTypeOf<EventOf<"conflict">>().not.toHaveProperty("fence");
    const narrow = (one: OncewardEvent) => {
      if (one.type === "step") expectTypeOf(one.skipped).toEqualTypeOf<boolean>();
      if (one.type === "circuit") expectTypeOf(one.state).toEqualTypeOf<"open" | "half-open" | "closed">();
    };
    narrow(event);
  });

  it("reach the listener", () => {
    const hub = new EventHub();
    hub.on("completed", (one) => expectTypeOf(one.bytes).toEqualTypeOf<number>());
    hub.on("*", (one) => expectTypeOf(one).toEqualTypeOf<OncewardEvent>());
    // @ts-expect-error there is no such event
    hub.on("complete", () => {});
  });
});
