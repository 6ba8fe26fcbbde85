import type { IncomingMessage, ServerResponse } from "node:http";
import type { StoredRecord } from "@onceward/core";
import { scenes } from "../scenes/index.ts";
import { type Framework, frameworks, type StoreKind, storeKinds } from "../shared/messages.ts";
import type { Balancer } from "./balancer.ts";
import { asOperatorRecord, listRecords } from "./operator.ts";
import type { HostedStore } from "./stores.ts";
import type { Theatre } from "./theatre.ts";

/** What the page's buttons reach. */
export interface ApiParts {
  readonly theatre: Theatre;
  readonly balancer: Balancer;
  current(): HostedStore;
  useStore(kind: StoreKind): Promise<void>;
}

/** An answer as JSON. */
interface Answer {
  readonly status?: number;
  readonly body?: unknown;
}

type Action = (body: Readonly<Record<string, unknown>>) => Promise<Answer> | Answer;

const wrong = (error: string): Answer => ({ status: 400, body: { error } });

/** Answers `POST /playground/<action>` with a JSON body. */
export function createApi({ theatre, balancer, current, useStore }: ApiParts) {
  const actions: Record<string, Action> = {
    async store({ store }) {
      const kind = storeKinds.find((name) => name === store);
      if (!kind) return wrong(`store is one of ${storeKinds.join(", ")}`);
      await useStore(kind);
      return {};
    },
    scene({ scene: id, framework: name }) {
      const scene = scenes.find((one) => one.id === id);
      const framework: Framework | undefined = frameworks.find((one) => one === name);
      if (!scene || !framework) return wrong("no such scene or framework");
      return { body: theatre.start(scene, framework, current().kind) };
    },
    "end-scene"({ run }) {
      theatre.end(String(run));
      return {};
    },
    async list({ state }) {
      return { body: await listRecords(current().store, state as StoredRecord["state"] | undefined) };
    },
    async find({ key }) {
      const found = await Promise.all(balancer.idsOf(String(key)).map((id) => current().store.find(id)));
      return { body: found.filter((record) => record !== null).map(asOperatorRecord) };
    },
    async release({ id, token }) {
      return { body: { done: await current().store.release(String(id), String(token)) } };
    },
    async remove({ id }) {
      return { body: { done: await current().store.remove(String(id)) } };
    },
  };

  return async (name: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await handle(actions[name], request);
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body ?? {}));
  };
}

async function handle(action: Action | undefined, request: IncomingMessage): Promise<Answer> {
  if (!action || request.method !== "POST") return { status: 404, body: { error: "no such action" } };
  // Other sites' pages can't send this type without asking, so they can't push our buttons.
  if (request.headers["content-type"] !== "application/json") return wrong("send application/json");
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return await action(JSON.parse(Buffer.concat(chunks).toString("utf8")));
  } catch (error) {
    return { status: 500, body: { error: (error as Error).message } };
  }
}
