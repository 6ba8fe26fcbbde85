import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Slice, SliceOptions } from "./measure.ts";
import { pinned } from "./pin.ts";
import type { Places } from "./subject.ts";
import type { SubjectName } from "./subjects/index.ts";

/** What a worker is asked. */
export type Question = { readonly id: number } & Asked;
type Asked =
  | { readonly ask: "open"; readonly subject: string; readonly places: Places }
  | { readonly ask: "keep"; readonly bodyBytes: number; readonly count?: number }
  | { readonly ask: "slice"; readonly options: SliceOptions }
  | { readonly ask: "allocations"; readonly options: SliceOptions; readonly requests: number }
  | { readonly ask: "heap"; readonly records: number; readonly bodyBytes: number }
  | { readonly ask: "forget" }
  | { readonly ask: "executions" }
  | { readonly ask: "hold" }
  | { readonly ask: "let-go" }
  | { readonly ask: "duplicates"; readonly key: string; readonly count: number }
  | { readonly ask: "close" };

/** What it answers. */
export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** When the last of many duplicates had its answer, and when the work had ended; on the machine's monotonic clock. */
export interface Duplicates {
  readonly lastAt: string;
  readonly workEndedAt: string;
  readonly executions: number;
}

/** A process of the bundle, which answers questions. */
export class Child {
  readonly process: ChildProcess;
  readonly ready: Promise<unknown>;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #lastId = 0;

  constructor(script: string, options: { readonly core: number | undefined; readonly flags?: readonly string[] }) {
    const file = fileURLToPath(new URL(`../dist/${script}.js`, import.meta.url));
    const flags = options.flags ?? ["--expose-gc"];
    const [command, ...args] = pinned(options.core, [process.execPath, ...flags, file]);
    this.process = spawn(command as string, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.ready = new Promise((resolve, reject) => this.#waiting.set(0, { resolve, reject }));
    this.process.on("message", (message: Answer) => {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.value);
      else waiting?.reject(new Error(message.error));
    });
    this.process.on("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${script} ended with ${code}`));
    });
  }

  ask<Result>(question: object): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.process.send({ ...question, id });
    }) as Promise<Result>;
  }

  end(): void {
    if (this.process.connected) this.process.disconnect();
  }
}

/** A process with one subject. */
export class Worker {
  readonly subject: SubjectName;
  readonly label: string;
  readonly #child: Child;

  private constructor(subject: SubjectName, label: string, child: Child) {
    this.subject = subject;
    this.label = label;
    this.#child = child;
  }

  static async start(
    subject: SubjectName,
    places: Places,
    options: { readonly label?: string; readonly core?: number | undefined; readonly flags?: readonly string[] } = {},
  ): Promise<Worker> {
    const { label = subject, core = 0, flags } = options;
    const child = new Child("worker", { core, ...(flags && { flags }) });
    await child.ready;
    const worker = new Worker(subject, label, child);
    await worker.ask({ ask: "open", subject, places });
    return worker;
  }

  ask<Result>(question: Asked): Promise<Result> {
    return this.#child.ask<Result>(question);
  }

  keep(bodyBytes: number, count?: number): Promise<void> {
    return this.ask({ ask: "keep", bodyBytes, ...(count !== undefined && { count }) });
  }

  /** A slice, which is an error when work ran that should not have, or did not run that should have. */
  async slice(options: SliceOptions): Promise<Slice> {
    const slice = await this.ask<Slice>({ ask: "slice", options });
    const expected = options.scenario === "new" ? slice.requests : 0;
    if (slice.executions !== expected) {
      const { scenario } = options;
      throw new Error(`${this.label}: ${slice.requests} requests (${scenario}) made ${slice.executions} executions`);
    }
    return slice;
  }

  /** Until the compiler has seen enough; how long that takes depends on what else the machine does. */
  async warmUp(requests = 10_000, atMostMs = 4_000): Promise<void> {
    const startedAt = performance.now();
    await this.keep(200);
    for (const scenario of ["new", "replay"] as const) {
      for (let done = 0; done < requests && performance.now() - startedAt < atMostMs; ) {
        done += (await this.slice({ scenario, concurrency: 50, bodyBytes: 200, durationMs: 100 })).requests;
      }
    }
  }

  async close(): Promise<void> {
    await this.ask({ ask: "close" });
    this.#child.end();
  }
}
