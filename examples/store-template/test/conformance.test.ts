import { testStore } from "@onceward/testkit";
import { documentStore } from "../src/index.ts";
import { TinyDatabase } from "./tiny-database.ts";

const database = new TinyDatabase();

testStore({
  name: "documentStore",
  create: () => documentStore({ client: database.connect(), timeoutMs: 500 }),
  inspect(id) {
    const text = database.documents.get(id);
    if (text === undefined) return null;
    return { expiresInMs: JSON.parse(text).expiresAt - database.now, bytes: Buffer.from(text) };
  },
  outage: { begin: () => database.pause(), end: () => database.resume() },
});
