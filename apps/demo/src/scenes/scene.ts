import type { Instance, SceneCard } from "../shared/messages.ts";

/** A request that a scene sends, to the service and to its unprotected twin at the same moment. */
export interface SceneRequest {
  /** Default: POST. */
  readonly method?: string | undefined;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: unknown;
  /** Which process serves it. Default: they take turns. */
  readonly to?: Instance | undefined;
  /** The client gives up when this resolves. */
  readonly giveUp?: Promise<unknown> | undefined;
}

/** What a scene can do. */
export interface Stage {
  /** Sends to both sides at once; resolves when both have answered, or the client gave up. */
  send(request: SceneRequest): Promise<void>;
  pause(ms: number): Promise<void>;
  /** Resolves when each side has created so many records since the scene began. */
  records(count: number): Promise<void>;
  /** Resolves when Onceward has told of such an event since the scene began, so many times. */
  event(type: string, times?: number): Promise<void>;
  /** Interrupts the connection between service and store. */
  cutStore(): void;
  mendStore(): void;
  /** SIGKILLs a service process. */
  kill(instance: Instance): Promise<void>;
}

/** A story that shows one thing. A new one is a file in this folder and a line in `index.ts`. */
export interface Scene extends SceneCard {
  /** How many records it creates with Onceward, and without: what its tests hold it to. */
  readonly expected: { readonly with: number; readonly without: number };
  /** Nothing for scenes whose requests the visitor sends. */
  readonly play?: ((stage: Stage) => Promise<void>) | undefined;
}
