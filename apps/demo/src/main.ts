import { onceward } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";

const once = onceward({ store: memoryStore() });
once.on("replayed", () => console.log("  (replayed: nothing was charged)"));

let charges = 0;
async function charge(amount: number) {
  charges += 1;
  console.log(`  charging ${amount} …`);
  return { receipt: `receipt-${charges}`, amount };
}

/** What a client does that doesn't know whether its first request arrived: it sends the same again. */
async function pay(title: string, amount: number) {
  console.log(title);
  const request = { operation: "pay", key: "order-42", payload: { amount } };
  const { value } = await once.run(request, () => charge(amount));
  console.log(`  ${value.receipt}`);
}

await pay("The first request:", 5);
await pay("A retry, because the answer was lost:", 5);
await pay("The same key for another amount, a client's bug:", 7).catch((error) => console.log(`  ${error.message}`));
console.log(`Charged ${charges} time.`);

await once.close();
