import { compareOn } from "../grid.ts";
import type { Suite } from "../result.ts";

export const memorySuite: Suite = {
  name: "memory",
  run: (context) =>
    compareOn({
      context,
      id: "memory",
      title: "Memory",
      places: {},
      lineup: [
        ["Onceward", "Onceward, memory"],
        ["Onceward (A/A)", "Onceward, memory"],
        ["Onceward, detectNesting: true", "Onceward, memory, detectNesting: true"],
        ["Onceward, somebody listens to events", "Onceward, memory, a listener"],
        ["Onceward, AES-GCM", "Onceward, memory, AES-GCM"],
        ["Onceward, one step", "Onceward, memory, one step"],
        ["node-idempotency", "node-idempotency, memory"],
        ["raw Map", "raw Map"],
      ],
      settings: (["new", "replay", "conflict"] as const).map((scenario) => ({
        scenario,
        concurrency: 50,
        bodyBytes: 200,
      })),
      about: "Requests a second beside Onceward with its defaults. A Map has no lease, no expiry and no fingerprint.",
      empty: async () => {},
    }),
};
