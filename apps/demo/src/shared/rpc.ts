import { randomUUID } from "node:crypto";

/** One end of a channel between two processes, as `process` and `ChildProcess` are. */
export interface Channel {
  // Its further parameters differ between the two.
  send?: unknown;
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "disconnect", listener: () => void): unknown;
}

/** Answers a call of the other end; `signal` aborts when the caller no longer cares. */
export type Handler = (args: readonly unknown[], signal: AbortSignal) => unknown;

/** Calls the other end. */
export type Call = (method: string, args: readonly unknown[], signal?: AbortSignal) => Promise<unknown>;

type Message =
  | { type: "call"; id: string; method: string; args: readonly unknown[] }
  | { type: "cancel"; id: string }
  | { type: "result"; id: string; value: unknown }
  | { type: "error"; id: string; message: string; code: string | undefined };

/** What the other end threw; `code` is kept. */
export class RemoteError extends Error {
  readonly code: string | undefined;
  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

/** Calls in both directions over one channel. It needs `serialization: "advanced"`, which carries bytes and maps. */
export function rpc(channel: Channel, handlers: Readonly<Record<string, Handler>>): Call {
  const pending = new Map<string, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const serving = new Map<string, AbortController>();
  const send = (message: Message) => {
    const transmit = channel.send as ((message: Message, sent: (error: Error | null) => void) => boolean) | undefined;
    // An error is the end of the channel; whoever waits for an answer learns of it.
    transmit?.call(channel, message, (error) => error && settle(message.id)?.reject(error));
  };

  async function serve({ id, method, args }: Extract<Message, { type: "call" }>): Promise<void> {
    const controller = new AbortController();
    serving.set(id, controller);
    try {
      const handler = handlers[method];
      if (!handler) throw new Error(`nobody answers to ${method}`);
      send({ type: "result", id, value: await handler(args, controller.signal) });
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      send({ type: "error", id, message, code });
    } finally {
      serving.delete(id);
    }
  }

  channel.on("message", (incoming) => {
    const message = incoming as Message;
    if (message.type === "call") serve(message);
    else if (message.type === "cancel") serving.get(message.id)?.abort();
    else if (message.type === "result") settle(message.id)?.resolve(message.value);
    else if (message.type === "error") settle(message.id)?.reject(new RemoteError(message.message, message.code));
  });
  channel.on("disconnect", () => {
    for (const controller of serving.values()) controller.abort();
    for (const { reject } of pending.values()) reject(new RemoteError("the other process has gone", "ERR_GONE"));
    pending.clear();
  });

  function settle(id: string) {
    const waiter = pending.get(id);
    pending.delete(id);
    return waiter;
  }

  return (method, args, signal) =>
    new Promise((resolve, reject) => {
      const id = randomUUID();
      pending.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => pending.has(id) && send({ type: "cancel", id }), { once: true });
      send({ type: "call", id, method, args });
    });
}
