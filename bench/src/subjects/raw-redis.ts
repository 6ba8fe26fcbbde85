import { Redis } from "ioredis";
import { Redis as Redis6 } from "ioredis-6";
import { createClient } from "redis";
import { type MakeSubject, type Places, ttlMs, type Work } from "../subject.ts";

/** The two commands of the limit: no check of the payload, no owner, no lease, no fence. */
interface Commands {
  setIfAbsent(key: string, value: string): Promise<boolean>;
  set(key: string, value: string): Promise<unknown>;
  get(key: string): Promise<string | null>;
  close(): Promise<unknown>;
}

function subject(commands: Commands, work: Work) {
  // Whoever knows that a key is new need not ask, so a new request costs two commands and a replay one.
  const known = new Set<string>();
  return {
    request: async (key: string, payload: Parameters<Work>[0]) => {
      if (known.has(key)) return JSON.parse((await commands.get(key)) as string) as unknown;
      if (!(await commands.setIfAbsent(key, "running"))) throw new Error("The raw limit can't tell who came first");
      const result = await work(payload);
      await commands.set(key, JSON.stringify(result));
      if (key.startsWith("kept")) known.add(key);
      return result;
    },
    forget: () => known.clear(),
    close: async () => void (await commands.close()),
  };
}

const url = ({ redisUrl }: Places): string => redisUrl ?? "";

function ofIoredis(client: Redis): Commands {
  return {
    setIfAbsent: async (key, value) => (await client.set(key, value, "PX", ttlMs, "NX")) === "OK",
    set: (key, value) => client.set(key, value, "PX", ttlMs),
    get: (key) => client.get(key),
    close: () => client.quit(),
  };
}

export const rawIoredis5: MakeSubject = async (work, places) => subject(ofIoredis(new Redis(url(places))), work);

export const rawIoredis5Pipelining: MakeSubject = async (work, places) =>
  subject(ofIoredis(new Redis(url(places), { enableAutoPipelining: true })), work);

export const rawIoredis6: MakeSubject = async (work, places) =>
  subject(ofIoredis(new Redis6(url(places)) as unknown as Redis), work);

export const rawNodeRedis: MakeSubject = async (work, places) => {
  const client = createClient({ url: url(places) });
  await client.connect();
  return subject(
    {
      setIfAbsent: async (key, value) => (await client.set(key, value, { PX: ttlMs, NX: true })) === "OK",
      set: (key, value) => client.set(key, value, { PX: ttlMs }),
      get: (key) => client.get(key),
      close: () => client.close(),
    },
    work,
  );
};
