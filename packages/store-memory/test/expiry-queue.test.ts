import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Expiring, ExpiryQueue } from "../src/expiry-queue.ts";

type Change = { what: "add" | "move"; at: number; which: number } | { what: "delete"; which: number };

const changes = fc.array(
  fc.oneof(
    fc.record({ what: fc.constantFrom("add" as const, "move" as const), at: fc.nat({ max: 20 }), which: fc.nat() }),
    fc.record({ what: fc.constant("delete" as const), which: fc.nat() }),
  ),
  { maxLength: 60, size: "max" },
);

function apply(change: Change, queue: ExpiryQueue<Expiring>, held: Expiring[]): void {
  if (change.what === "add") {
    const entry = { expiresAt: change.at, place: -1 };
    held.push(entry);
    queue.add(entry);
    return;
  }
  const entry = held[change.which % held.length];
  if (!entry) return;
  if (change.what === "move") {
    entry.expiresAt = change.at;
    queue.moved(entry);
  } else {
    held.splice(held.indexOf(entry), 1);
    queue.delete(entry);
  }
}

describe("ExpiryQueue", () => {
  it("has first what expires first, whatever was added, moved and deleted before", () => {
    fc.assert(
      fc.property(changes, (sequence) => {
        const queue = new ExpiryQueue<Expiring>();
        const held: Expiring[] = [];
        for (const change of sequence) {
          apply(change, queue, held);
          const earliest = held.length === 0 ? undefined : Math.min(...held.map(({ expiresAt }) => expiresAt));
          expect(queue.first?.expiresAt).toBe(earliest);
        }
        const order: number[] = [];
        for (let first = queue.first; first !== undefined; first = queue.first) {
          order.push(first.expiresAt);
          queue.delete(first);
        }
        expect(order).toEqual(held.map(({ expiresAt }) => expiresAt).sort((a, b) => a - b));
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});
