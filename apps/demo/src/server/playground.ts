import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { scenes } from "../scenes/index.ts";
import { serveStore } from "../service/store-link.ts";
import { type FeedEvent, type Framework, frameworks, type Side, type Status } from "../shared/messages.ts";
import { createApi } from "./api.ts";
import { type Balancer, createBalancer } from "./balancer.ts";
import { createFeed } from "./feed.ts";
import { createLedger } from "./ledger.ts";
import { listenNear } from "./listen.ts";
import { storeStats } from "./operator.ts";
import { buildPage } from "./page.ts";
import { createStoreSwitch } from "./store-switch.ts";
import { storeChoices } from "./stores.ts";
import { createTheatre, type Theatre } from "./theatre.ts";
import { startWorkers, type Workers } from "./workers.ts";

/** A playground that runs. */
export interface Playground {
  readonly url: string;
  /** Where each framework can be reached with curl. */
  readonly addresses: Readonly<Record<Framework, string>>;
  /** Ends the processes, the servers and the stores. */
  close(): Promise<void>;
}

const STATS_INTERVAL_MS = 1_000;

/** Starts everything; the page is on `port`, the frameworks on the next ones. Ports that are busy are passed over. */
export async function startPlayground(port: number): Promise<Playground> {
  const pageReady = buildPage();
  const choices = await storeChoices();
  const stores = await createStoreSwitch(() => {
    tellStatus();
    tellStats();
  });
  let addresses = {} as Record<Framework, string>;
  let theatre: Theatre | undefined;
  let balancer: Balancer | undefined;
  let workers: Workers | undefined;

  const instance = (name: "A" | "B") => ({ alive: workers?.get(name) !== undefined, pid: workers?.get(name)?.pid });
  const status = (): Status => ({
    store: stores.current.kind,
    storeNote: stores.note,
    stores: choices,
    wire: stores.cut ? "cut" : "whole",
    instances: { A: instance("A"), B: instance("B") },
    addresses,
  });
  const feed = createFeed(() => [
    { type: "hello", scenes: scenes.map(({ expected, play, ...card }) => card) },
    { type: "status", status: status() },
  ]);
  const tellStatus = () => feed.publish({ type: "status", status: status() });
  const tellStats = () =>
    storeStats(stores.current.store).then(
      (stats) => feed.publish({ type: "stats", stats }),
      // A store that can't be asked is told of by the events of those who need it.
      () => {},
    );

  const ledger = createLedger((effect) => {
    feed.publish({ type: "effect", effect });
    theatre?.hear(effect);
  });
  workers = await startWorkers(
    stores.current.source,
    {
      ...ledger.handlers,
      ...serveStore((kind) => ({ store: stores.opened(kind), cut: stores.cut })),
      "feed.event": ([event]) => {
        const told = event as FeedEvent;
        feed.publish({ type: "event", event: told });
        balancer?.mark(told);
        theatre?.hear(told);
      },
    },
    tellStatus,
  );
  const service = workers;
  balancer = createBalancer(service, (request) => feed.publish({ type: "request", request }));
  const { balance } = balancer;

  theatre = createTheatre({
    address: (framework, side) => `http://127.0.0.1:${pagePort}/service/${framework}/${side}`,
    cutStore: stores.cutWire,
    mendStore: stores.mendWire,
    kill: (name) => service.kill(name),
    ready: async () => void (await Promise.all([service.ready("A"), service.ready("B")])),
    publish: (run) => feed.publish({ type: "run", run }),
  });

  const api = createApi({
    theatre,
    balancer,
    current: () => stores.current,
    useStore: (kind) => stores.use(kind, service.use),
  });
  const servePage = await pageReady;
  function route(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "/";
    const [, framework, side, rest] = /^\/service\/(express|fastify|hono)\/(with|without)(\/.*)$/.exec(path) ?? [];
    if (framework && side && rest) balance(framework as Framework, side as Side, rest, request, response);
    else if (path === "/playground/feed") feed.subscribe(response);
    else if (path.startsWith("/playground/")) api(path.slice("/playground/".length), request, response);
    else if (!servePage(path, response)) response.writeHead(404).end("There is nothing here.\n");
  }

  const servers: Server[] = [];
  const serve = async (at: number, listener: (request: IncomingMessage, response: ServerResponse) => void) => {
    const server = createServer((request, response) => {
      if (isLocal(request)) listener(request, response);
      else response.writeHead(403).end("Only for this machine.\n");
    });
    servers.push(server);
    return listenNear(server, at);
  };
  const pagePort = await serve(port, route);
  const url = `http://localhost:${pagePort}`;
  let next = port === 0 ? 0 : pagePort + 1;
  for (const framework of frameworks) {
    const taken = await serve(next, (request, response) =>
      balance(framework, "with", request.url ?? "/", request, response),
    );
    addresses = { ...addresses, [framework]: `http://localhost:${taken}` };
    next = port === 0 ? 0 : taken + 1;
  }
  const timer = setInterval(tellStats, STATS_INTERVAL_MS);

  return {
    url,
    addresses,
    async close() {
      clearInterval(timer);
      feed.close();
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
      await service.close();
      await stores.close();
    },
  };
}

/** A page elsewhere whose name leads to this machine would send another host. */
function isLocal({ headers }: IncomingMessage): boolean {
  return /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(headers.host ?? "");
}
