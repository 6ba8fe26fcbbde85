import { batch, computed, signal } from "@preact/signals";
import type {
  Effect,
  FeedEvent,
  FeedMessage,
  Framework,
  RequestTrace,
  Run,
  SceneCard,
  Status,
  StoreKind,
  StoreStats,
} from "../shared/messages.ts";

/** Old things are forgotten. */
const KEPT_EVENTS = 200;
const KEPT_REQUESTS = 400;

/** What is chosen and what runs. Undefined until the feed has begun. */
export const status = signal<Status | undefined>(undefined);
/** All scenes. */
export const scenes = signal<readonly SceneCard[]>([]);
/** What is in the store. */
export const stats = signal<StoreStats | undefined>(undefined);
/** The last requests, by id, oldest first. */
export const requests = signal<ReadonlyMap<string, RequestTrace>>(new Map());
/** The last events of Onceward, oldest first. */
export const events = signal<readonly FeedEvent[]>([]);
/** The last effects, oldest first. */
export const effects = signal<readonly Effect[]>([]);
/** Performances, by id. */
export const runs = signal<ReadonlyMap<string, Run>>(new Map());
/** Whether the playground is there. */
export const connected = signal(false);
/** Moves while a scene plays, so that open bars grow. */
export const now = signal(Date.now());

/** The framework that the visitor chose. */
export const framework = signal<Framework>("express");
/** The store that is being started. */
export const pendingStore = signal<StoreKind | undefined>(undefined);
/** The scene that the visitor chose. */
export const sceneId = signal("double-click");
/** The performance that is on stage, by scene. */
export const onStage = signal<ReadonlyMap<string, string>>(new Map());

/** The scene on stage. */
export const scene = computed(() => scenes.value.find(({ id }) => id === sceneId.value));
/** Its last performance. */
export const run = computed(() => runs.value.get(onStage.value.get(sceneId.value) ?? ""));

/** Replays among all requests that had a key. */
export const hitRate = computed(() => {
  const count = (type: string) => events.value.filter((event) => event.type === type).length;
  const replayed = count("replayed");
  const total = replayed + count("claimed");
  return { replayed, total, percent: total === 0 ? undefined : Math.round((100 * replayed) / total) };
});

function apply(message: FeedMessage): void {
  switch (message.type) {
    case "hello":
      // After a reconnection the feed begins anew.
      scenes.value = message.scenes;
      events.value = [];
      effects.value = [];
      break;
    case "status":
      status.value = message.status;
      break;
    case "stats":
      stats.value = message.stats;
      break;
    case "request": {
      const all = new Map(requests.value).set(message.request.id, message.request);
      const [oldest] = all.keys();
      if (all.size > KEPT_REQUESTS && oldest) all.delete(oldest);
      requests.value = all;
      break;
    }
    case "event":
      events.value = [...events.value, message.event].slice(-KEPT_EVENTS);
      break;
    case "effect":
      effects.value = [...effects.value, message.effect].slice(-KEPT_REQUESTS);
      break;
    case "run":
      runs.value = new Map(runs.value).set(message.run.id, message.run);
      break;
  }
}

/** Listens to the feed for as long as the page lives. */
export function connect(): void {
  const source = new EventSource("/playground/feed");
  source.onopen = () => {
    connected.value = true;
  };
  source.onerror = () => {
    connected.value = false;
  };
  source.onmessage = ({ data }: MessageEvent<string>) =>
    batch(() => {
      for (const message of JSON.parse(data) as FeedMessage[]) apply(message);
    });
  setInterval(() => {
    if (run.value?.state === "running") now.value = Date.now();
  }, 100);
}

/** Pushes one of the server's buttons. Rejects with what it says is wrong. */
export async function act<Result>(action: string, body: object): Promise<Result> {
  const response = await fetch(`/playground/${action}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Result & { error?: string };
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Serves from another store from now on; what goes wrong is shown through `status`. */
export async function chooseStore(store: StoreKind): Promise<void> {
  pendingStore.value = store;
  await act("store", { store }).catch(() => {});
  pendingStore.value = undefined;
}

/** Puts a new performance of the scene on stage. */
export async function perform(): Promise<Run> {
  const id = sceneId.value;
  const started = await act<Run>("scene", { scene: id, framework: framework.value });
  batch(() => {
    if (!runs.value.has(started.id)) runs.value = new Map(runs.value).set(started.id, started);
    onStage.value = new Map(onStage.value).set(id, started.id);
  });
  return started;
}
