import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshDatabase, type PgBouncer, type PostgresServer, startPgBouncer, startPostgres } from "../src/index.ts";

let postgres: PostgresServer;
let bouncer: PgBouncer;
beforeAll(async () => {
  postgres = await startPostgres();
  bouncer = await startPgBouncer(postgres, { poolMode: "transaction", poolSize: 1 });
});
afterAll(async () => {
  await bouncer?.stop();
  await postgres?.stop();
});

async function connected<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

it("gives a server connection for a transaction only", async () => {
  await connected(bouncer.url, (one) =>
    connected(bouncer.url, async (two) => {
      const backends = await Promise.all([one, two].map((client) => client.query("select pg_backend_pid() as pid")));
      expect(backends[0]?.rows).toEqual(backends[1]?.rows);
    }),
  );
});

it("reaches every database and role of the server", async () => {
  const database = await freshDatabase(postgres);
  await postgres.query("create role tenant login password 'its own'");
  const url = new URL(database.url);
  [url.username, url.password] = ["tenant", "its own"];
  const [row] = await connected(
    bouncer.through(url.href),
    async (client) => (await client.query("select current_user::text as who, current_database()::text as where")).rows,
  );
  expect(row).toEqual({ who: "tenant", where: database.name });
});

it("can be killed and restarted", async () => {
  await bouncer.kill();
  await expect(new Client(bouncer.url).connect()).rejects.toThrow("ECONNREFUSED");
  await bouncer.restart();
  await connected(bouncer.url, (client) => client.query("select 1"));
});
