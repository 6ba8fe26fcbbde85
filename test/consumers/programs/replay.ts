import assert from "node:assert/strict";
import { onceward } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";

async function main() {
  const once = onceward({ store: memoryStore() });
  let runs = 0;
  const refund = (amount: number) => {
    runs += 1;
    return { amount, receipt: `r-${runs}` };
  };

  const operation = { operation: "refund", key: "order-1", payload: { amount: 5 } };
  const first = await once.run(operation, () => refund(5));
  const retry = await once.run(operation, () => refund(5));
  assert.deepEqual([first.value, first.replayed], [{ amount: 5, receipt: "r-1" }, false]);
  assert.deepEqual([retry.value, retry.replayed], [{ amount: 5, receipt: "r-1" }, true]);
  const amount: number = retry.value.amount;
  assert.equal(amount, 5);

  const refundOnce = once.wrap(refund, { operation: "refund", key: (amount) => `of-${amount}` });
  await refundOnce(7);
  await refundOnce(7);
  assert.equal(runs, 2);

  await once.close();
  console.log("done");
}

void main();
