/** A process with one subject in it, told by its parent what to measure. */
import { Measurement } from "./measure.ts";
import { keyOf, payloadOf, type Subject } from "./subject.ts";
import { type SubjectName, subjects } from "./subjects/index.ts";
import type { Answer, Question } from "./workers.ts";

let subject: Subject | undefined;
let measurement: Measurement | undefined;
let executions = 0;
/** Set while the work shall wait. */
let gate: Promise<void> | undefined;
let openGate = () => {};
let workEndedAt = 0n;

const results = new Map<number, unknown>();
async function work({ note }: { readonly note: string }): Promise<unknown> {
  executions++;
  if (gate) await gate;
  let result = results.get(note.length);
  if (!result) {
    result = { id: "order-4711", status: "created", note };
    results.set(note.length, result);
  }
  if (gate) workEndedAt = process.hrtime.bigint();
  return result;
}

/** Asks so often for one key at once; when the last has its answer, says when that was. */
async function duplicates(key: string, count: number): Promise<bigint> {
  const payload = payloadOf(200);
  await Promise.all(Array.from({ length: count }, () => subject?.request(key, payload)));
  return process.hrtime.bigint();
}

async function answer(question: Question): Promise<unknown> {
  switch (question.ask) {
    case "open":
      subject = await subjects[question.subject as SubjectName](work as never, question.places);
      measurement = new Measurement(subject, () => executions);
      return undefined;
    case "keep":
      return measurement?.keep(question.bodyBytes, question.count);
    case "slice":
      return measurement?.slice(question.options);
    case "allocations":
      return measurement?.allocations(question.options, question.requests);
    case "close":
      return subject?.close();
    case "forget":
      return subject?.forget?.();
    case "executions":
      return executions;
    case "hold":
      gate = new Promise((resolve) => (openGate = resolve));
      return undefined;
    case "let-go": {
      openGate();
      return undefined;
    }
    case "duplicates": {
      const before = executions;
      const lastAt = await duplicates(question.key, question.count);
      return { lastAt: String(lastAt), workEndedAt: String(workEndedAt), executions: executions - before };
    }
    case "heap":
      return heapPerRecord(question.records, question.bodyBytes);
  }
}

async function heapPerRecord(records: number, bodyBytes: number): Promise<number> {
  const used = () => {
    globalThis.gc?.();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    return heapUsed + Math.max(external, arrayBuffers);
  };
  const fill = async (series: string) => {
    for (let number = 0; number < records; number++) {
      await subject?.request(keyOf(series, number), payloadOf(bodyBytes));
    }
  };
  await fill("warm");
  const before = used();
  await fill("heap");
  return (used() - before) / records;
}

process.on("message", (question: Question) => {
  answer(question).then(
    (value) => process.send?.({ id: question.id, value } satisfies Answer),
    (error: Error) => process.send?.({ id: question.id, error: error.stack ?? String(error) } satisfies Answer),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ id: 0, value: "ready" } satisfies Answer);
