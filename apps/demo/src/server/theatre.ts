import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scene, SceneRequest, Stage } from "../scenes/scene.ts";
import { INSTANCE_HEADER, RUN_HEADER } from "../shared/headers.ts";
import type { Effect, FeedEvent, Framework, Run, Side, StoreKind } from "../shared/messages.ts";

/** What the theatre needs of the playground. */
export interface House {
  /** Where the service (or its twin) is served, without a slash at the end. */
  address(framework: Framework, side: Side): string;
  cutStore(): void;
  mendStore(): void;
  kill(instance: "A" | "B"): Promise<void>;
  /** Resolves when both processes answer. */
  ready(): Promise<void>;
  publish(run: Run): void;
}

/** Plays scenes, one at a time: some of them break things that others need. */
export interface Theatre {
  /** Starts a performance; one whose requests the visitor sends ends with `end`. */
  start(scene: Scene, framework: Framework, store: StoreKind): Run;
  end(run: string): void;
  /** What happens in the world and in Onceward: scenes wait for it. */
  hear(happening: Effect | FeedEvent): void;
}

interface Performance {
  run: Run;
  readonly effects: Effect[];
  readonly events: FeedEvent[];
  readonly waiting: Set<() => void>;
}

/** A scene that waits for something longer than this has failed. */
const PATIENCE_MS = 15_000;

/** A theatre in this house. */
export function createTheatre(house: House): Theatre {
  const performances = new Map<string, Performance>();
  let lastAct: Promise<unknown> = Promise.resolve();

  function change(performance: Performance, changes: Partial<Run>): void {
    performance.run = { ...performance.run, ...changes };
    house.publish(performance.run);
  }

  function note(performance: Performance, text: string): void {
    change(performance, { notes: [...performance.run.notes, { at: Date.now(), text }] });
  }

  /** Resolves when the condition holds, which is looked at whenever something happens. */
  function until(performance: Performance, what: string, condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const check = () => {
        if (!condition()) return;
        clearTimeout(timer);
        performance.waiting.delete(check);
        resolve();
      };
      const timer = setTimeout(() => {
        performance.waiting.delete(check);
        reject(new Error(`waited in vain for ${what}`));
      }, PATIENCE_MS);
      performance.waiting.add(check);
    });
  }

  async function sendTo(side: Side, performance: Performance, request: SceneRequest): Promise<void> {
    const { id, framework } = performance.run;
    const controller = new AbortController();
    request.giveUp?.then(
      () => controller.abort(),
      () => {},
    );
    try {
      const response = await fetch(`${house.address(framework, side)}${request.path}`, {
        method: request.method ?? "POST",
        headers: {
          "content-type": "application/json",
          [RUN_HEADER]: id,
          ...(request.to && { [INSTANCE_HEADER]: request.to }),
          ...request.headers,
        },
        body: JSON.stringify(request.body),
        signal: controller.signal,
      });
      await response.arrayBuffer();
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    }
  }

  function stageOf(performance: Performance): Stage {
    return {
      async send(request) {
        await Promise.all([sendTo("with", performance, request), sendTo("without", performance, request)]);
      },
      async pause(ms) {
        await sleep(ms);
      },
      records: (count) =>
        until(performance, `${count} records on each side`, () =>
          (["with", "without"] as const).every(
            (side) => performance.effects.filter((one) => one.kind === "record" && one.side === side).length >= count,
          ),
        ),
      event: (type, times = 1) =>
        until(performance, type, () => performance.events.filter((event) => event.type === type).length >= times),
      cutStore() {
        house.cutStore();
        note(performance, "The wire to the store is cut");
      },
      mendStore() {
        house.mendStore();
        note(performance, "The store is back");
      },
      async kill(instance) {
        await house.kill(instance);
        note(performance, `Process ${instance} is killed`);
      },
    };
  }

  async function play(performance: Performance, scene: Scene): Promise<void> {
    try {
      await house.ready();
      change(performance, { startedAt: Date.now() });
      await scene.play?.(stageOf(performance));
      change(performance, { state: "done", endedAt: Date.now() });
    } catch (error) {
      change(performance, { state: "failed", endedAt: Date.now(), error: (error as Error).message });
    } finally {
      house.mendStore();
      performances.delete(performance.run.id);
    }
  }

  return {
    start(scene, framework, store) {
      const id = randomUUID();
      const run: Run = {
        ...{ id, scene: scene.id, framework, store, startedAt: Date.now() },
        state: "running",
        notes: [],
      };
      const performance: Performance = { run, effects: [], events: [], waiting: new Set() };
      performances.set(id, performance);
      house.publish(run);
      if (scene.play) lastAct = lastAct.then(() => play(performance, scene));
      return run;
    },
    end(id) {
      const performance = performances.get(id);
      if (!performance) return;
      change(performance, { state: "done", endedAt: Date.now() });
      performances.delete(id);
    },
    hear(happening) {
      const performance = performances.get(happening.run ?? "");
      if (!performance) return;
      if ("kind" in happening) performance.effects.push(happening);
      else performance.events.push(happening);
      for (const check of [...performance.waiting]) check();
    },
  };
}
