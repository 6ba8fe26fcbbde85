import type { OncewardEvent } from "@onceward/core";

/** What the feed says of an event, besides its name. */
export function describeEvent(event: OncewardEvent): string {
  switch (event.type) {
    case "claimed":
      return event.attempt > 1 ? `attempt ${event.attempt}, fence ${event.fence}` : `fence ${event.fence}`;
    case "abandoned":
      return "a former runner's lease ran out";
    case "completed":
      return `ran ${ms(event.runMs)}, ${event.bytes} bytes kept`;
    case "released":
      return `${event.reason} after ${ms(event.runMs)}`;
    case "replayed":
      return event.via === "join" ? "joined the running call" : `outcome was ${ms(event.ageMs)} old`;
    case "conflict":
      return "the key came with other data";
    case "waiting":
      return "the work is running";
    case "waited":
    case "wait-timeout":
      return ms(event.waitedMs);
    case "lease-renewed":
      return `fence ${event.fence}`;
    case "lease-lost":
      return event.reason;
    case "step":
      return event.skipped ? `${event.step}: done by a former attempt` : event.step;
    case "failed-open":
      return "the store can't be reached, and the work runs all the same";
    case "store-error":
      return `${event.call} failed`;
    case "circuit":
      return event.state;
    case "store-warning":
      return event.message;
    case "swept":
      return `${event.removed} records`;
    default:
      return "";
  }
}

const ms = (value: number) => (value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`);
