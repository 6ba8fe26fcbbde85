import type { RequestListener } from "node:http";
import type { Onceward } from "@onceward/core";
import type { Effects } from "./effects.ts";
import type { RequestFacts, Route } from "./route.ts";

/** What a framework's mount gets. */
export interface Mount {
  readonly routes: readonly Route[];
  /** Undefined for the unprotected twin. */
  readonly once: Onceward | undefined;
  /** The world, as this request sees it. */
  effects(request: RequestFacts): Effects;
  /** Runs the rest of a request so that Onceward's events can be told apart by request. */
  traced<Result>(request: RequestFacts, rest: () => Result): Result;
}

/** Serves all routes with one framework. */
export type MountFramework = (mount: Mount) => Promise<RequestListener>;
