import { monitorEventLoopDelay, PerformanceObserver, performance } from "node:perf_hooks";
import { quantile } from "./statistics.ts";
import { keyOf, type Payload, payloadOf, type Subject } from "./subject.ts";

/** What kind of requests: of new keys, of kept ones, or of kept ones with another payload. */
export type Scenario = "new" | "replay" | "conflict";

/** What a slice of a measurement consists of. */
export interface SliceOptions {
  readonly scenario: Scenario;
  readonly concurrency: number;
  readonly bodyBytes: number;
  readonly durationMs: number;
  /** Of the event loop's delay too; it costs a little. */
  readonly eventLoop?: boolean;
  /** Records are removed meanwhile, this many at a time. */
  readonly sweepBatch?: number;
}

/** What a slice has found. */
export interface Slice {
  readonly requests: number;
  readonly executions: number;
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly eventLoopP99Micros: number;
  readonly swept: number;
}

const maxLatencies = 1 << 20;

/** Measures one subject in its own process. */
export class Measurement {
  readonly #subject: Subject;
  readonly #executions: () => number;
  readonly #keptKeys: number;
  readonly #latencies = new Float64Array(maxLatencies);
  #series = 0;

  /** @param keptKeys - how many keys replays go round. */
  constructor(subject: Subject, executions: () => number, keptKeys = 1_000) {
    this.#subject = subject;
    this.#keptKeys = keptKeys;
    this.#executions = executions;
  }

  /** Stores what replays and conflicts need. */
  async keep(bodyBytes: number, count = this.#keptKeys): Promise<void> {
    const payload = payloadOf(bodyBytes);
    for (let start = 0; start < count; start += 50) {
      const batch = Array.from({ length: Math.min(50, count - start) }, (_, index) => start + index);
      await Promise.all(batch.map((number) => this.#subject.request(keptKey(bodyBytes, number), payload)));
    }
  }

  /** Sends requests for so long; every loop sends its next request when it has the answer to the last. */
  async slice(options: SliceOptions): Promise<Slice> {
    const { concurrency, durationMs } = options;
    const request = this.#requester(options);
    const delay = options.eventLoop ? monitorEventLoopDelay({ resolution: 1 }) : undefined;
    const executedBefore = this.#executions();
    let requests = 0;
    let swept = 0;
    let sweeping = options.sweepBatch !== undefined;
    const sweeper = async () => {
      while (sweeping) {
        swept += (await this.#subject.sweep?.(options.sweepBatch ?? 0)) ?? 0;
        // As the engine does between two batches.
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    };

    delay?.enable();
    const cpuBefore = process.cpuUsage();
    const startedAt = performance.now();
    const endsAt = startedAt + durationMs;
    const loop = async () => {
      for (let now = performance.now(); now < endsAt; ) {
        await request();
        const then = now;
        now = performance.now();
        this.#latencies[requests++ & (maxLatencies - 1)] = now - then;
      }
    };
    const sweep = sweeping ? sweeper() : undefined;
    await Promise.all(Array.from({ length: concurrency }, loop));
    const elapsedMs = performance.now() - startedAt;
    const cpu = process.cpuUsage(cpuBefore);
    delay?.disable();
    sweeping = false;
    await sweep;

    const latencies = Array.from(this.#latencies.subarray(0, Math.min(requests, maxLatencies)));
    return {
      requests,
      executions: this.#executions() - executedBefore,
      perSecond: (requests / elapsedMs) * 1_000,
      cpuMicros: (cpu.user + cpu.system) / requests,
      p50Micros: quantile(latencies, 0.5) * 1_000,
      p99Micros: quantile(latencies, 0.99) * 1_000,
      eventLoopP99Micros: delay ? delay.percentile(99) / 1_000 : Number.NaN,
      swept,
    };
  }

  /** Bytes that one request allocates on the heap; NaN when the collector came in between. */
  async allocations(options: SliceOptions, requests: number): Promise<number> {
    const request = this.#requester(options);
    for (let number = 0; number < requests; number++) await request();
    let collections = 0;
    const observer = new PerformanceObserver((list) => {
      collections += list.getEntries().length;
    });
    observer.observe({ entryTypes: ["gc"] });
    globalThis.gc?.();
    // The observer hears of it a while later.
    await new Promise((resolve) => setTimeout(resolve, 100));
    collections = 0;
    const before = process.memoryUsage().heapUsed;
    for (let number = 0; number < requests; number++) await request();
    const allocated = process.memoryUsage().heapUsed - before;
    await new Promise(setImmediate);
    observer.disconnect();
    return collections > 0 ? Number.NaN : allocated / requests;
  }

  #requester({ scenario, bodyBytes }: SliceOptions): () => Promise<unknown> {
    const subject = this.#subject;
    const payload = payloadOf(bodyBytes, scenario === "conflict" ? "y" : "x");
    let number = 0;
    if (scenario === "new") {
      const series = `new${process.pid}-${this.#series++}`;
      return () => subject.request(keyOf(series, number++), payload);
    }
    const next = () => keptKey(bodyBytes, number++ % this.#keptKeys);
    if (scenario === "replay") return () => subject.request(next(), payload);
    return () => mustReject(subject, next(), payload);
  }
}

async function mustReject(subject: Subject, key: string, payload: Payload): Promise<void> {
  try {
    await subject.request(key, payload);
  } catch {
    return;
  }
  throw new Error("Another payload under a used key was accepted");
}

const keptKey = (bodyBytes: number, number: number) => keyOf(`kept${process.pid}-${bodyBytes}`, number);
