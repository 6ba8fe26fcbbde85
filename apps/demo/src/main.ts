// Placeholder until the engine's API lands; then: run once, retry, see the replay.
console.log("Onceward: run it once; retry it for ever.");
