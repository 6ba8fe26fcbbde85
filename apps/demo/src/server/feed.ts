import type { ServerResponse } from "node:http";
import type { FeedMessage, RequestTrace } from "../shared/messages.ts";

/** How much a page that opens later gets to see. */
const REMEMBERED = 300;
/** A storm sends hundreds of messages: they leave together. */
const FLUSH_MS = 30;

/** Tells the pages what happens, as Server-Sent Events. */
export interface Feed {
  publish(message: FeedMessage): void;
  /** Sends a page what is remembered, and then what happens. */
  subscribe(response: ServerResponse): void;
  close(): void;
}

/** A feed without a past. */
export function createFeed(greeting: () => readonly FeedMessage[]): Feed {
  const pages = new Set<ServerResponse>();
  const past: FeedMessage[] = [];
  let waiting: FeedMessage[] = [];
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    timer = undefined;
    const text = encode(waiting);
    waiting = [];
    for (const page of pages) page.write(text);
  };

  return {
    publish(message) {
      if (message.type !== "status" && message.type !== "stats") remember(past, message);
      waiting.push(message);
      timer ??= setTimeout(flush, FLUSH_MS);
    },
    subscribe(response) {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      response.write(encode([...greeting(), ...past]));
      pages.add(response);
      response.on("close", () => pages.delete(response));
    },
    close() {
      clearTimeout(timer);
      for (const page of pages) page.end();
    },
  };
}

/** Requests and runs change: only their last state is worth remembering. */
function remember(past: FeedMessage[], message: FeedMessage): void {
  const name = nameOf(message);
  const known = name === undefined ? -1 : past.findIndex((other) => nameOf(other) === name);
  if (known >= 0) past[known] = message;
  else past.push(message);
  if (past.length > REMEMBERED) past.shift();
}

function nameOf(message: FeedMessage): string | undefined {
  if (message.type === "request") return `request ${(message.request satisfies RequestTrace).id}`;
  return message.type === "run" ? `run ${message.run.id}` : undefined;
}

const encode = (messages: readonly FeedMessage[]) => `data: ${JSON.stringify(messages)}\n\n`;
