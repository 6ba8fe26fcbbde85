import { expect } from "vitest";
import { tick } from "../store/waiting.ts";
import { door, type Group, keyed, text } from "./world.ts";

const chunk = new Uint8Array(64_000).fill(120);
const binary = [["Content-Type", "application/octet-stream"]] as const;

/** H12: clients that vanish, and slow ones. */
export const clients: Group = (declare) => {
  declare("H12.1 the outcome is kept for a client that vanished during the handler", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, runs, events } = await start({
      handle: async () => {
        await opened;
        return text("finished all the same");
      },
    });
    const headers = keyed();
    const vanish = client.vanishing({ headers, body: "{}" });
    await until("the handler runs", () => runs.length === 1);
    vanish();
    // Enough for the server to notice on most runs; what follows must hold on the others too.
    await tick(20);
    open();
    await until("the outcome is kept", () => events("completed").length === 1);
    const retry = await client.send({ headers, body: "{}" });
    expect([retry.text, retry.replayed, runs.length]).toEqual(["finished all the same", true, 1]);
  });

  declare("H12.2 a stream is read to its end for a client that vanished in the middle", async ({ start, until }) => {
    const { open, opened } = door();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield chunk;
      await opened;
      for (let count = 1; count < 10; count++) yield chunk;
    }
    const { client, runs, events } = await start({ handle: () => ({ status: 200, headers: binary, body: body() }) });
    const headers = keyed();
    const connection = client.open();
    connection.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await connection.until(/x{1000}/);
    connection.destroy();
    await tick(20);
    open();
    await until("the outcome is kept", () => events("completed").length === 1);
    const retry = await client.send({ headers, body: "{}" });
    expect([retry.body.byteLength, retry.replayed, runs.length]).toEqual([10 * chunk.byteLength, true, 1]);
  });

  declare("H12.3 a client that vanished stops waiting, and nothing runs for it", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, runs, events } = await start({
      handle: async (context, run) => {
        if (context.protected) await opened;
        return text(`run ${run}`, 500);
      },
    });
    const headers = keyed();
    const first = client.send({ headers, body: "{}" });
    await until("the handler runs", () => runs.length === 1);
    const vanish = client.vanishing({ headers, body: "{}" });
    await until("the duplicate waits", () => events("waiting").length === 1);
    vanish();
    await tick(50);
    open();
    expect((await first).status).toBe(500);
    await client.send({ method: "GET" });
    expect(runs.filter((context) => context.protected)).toHaveLength(1);
  });

  declare("H12.4 a client that vanished while it sent the body leaves no trace", async ({ start, until }) => {
    const { client, runs, faults } = await start();
    const headers = keyed();
    const connection = client.open();
    connection.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"amount":`,
    );
    await tick(20);
    connection.destroy();
    await until("the server answers others", async () => (await client.send({ method: "GET" })).status === 201);
    await tick(20);
    expect([runs.filter((context) => context.protected).length, faults.calls]).toEqual([0, []]);
    expect((await client.send({ headers, body: '{"amount":1}' })).replayed).toBe(false);
  });

  declare("H12.5 a client that vanished after its answer has its replay", async ({ start }) => {
    const { client, runs } = await start();
    const headers = keyed();
    const connection = client.open();
    connection.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await connection.until(/done/);
    connection.destroy();
    expect((await client.send({ headers, body: "{}" })).replayed).toBe(true);
    expect(runs).toHaveLength(1);
  });

  declare("H12.6 a response that breaks off is abandoned: the next attempt takes over, and knows", async (bench) => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield chunk;
      throw new Error("on purpose");
    }
    const { client, runs } = await bench.start({
      options: { leaseMs: 60 },
      handle: (_context, run) => (run === 1 ? { status: 200, headers: binary, body: broken() } : text("at last")),
    });
    const headers = keyed();
    await client.send({ headers, body: "{}", alone: true }).catch(() => {});
    const retry = await client.send({ headers, body: "{}" });
    expect([retry.text, retry.replayed]).toEqual(["at last", false]);
    expect(runs.map((context) => context.attempt)).toEqual([1, 2]);
  });

  declare("H12.7 with `takeover: false` its outcome is unknown from then on", async ({ start, until }) => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield chunk;
      throw new Error("on purpose");
    }
    const { client, runs } = await start({
      options: { leaseMs: 60, takeover: false, waitMs: 0 },
      handle: () => ({ status: 200, headers: binary, body: broken() }),
    });
    const headers = keyed();
    await client.send({ headers, body: "{}", alone: true }).catch(() => {});
    await until("its outcome is unknown", async () => {
      const reply = await client.send({ headers, body: "{}" });
      expect(reply.status).toBe(409);
      return reply.text.includes("ERR_OUTCOME_UNKNOWN");
    });
    expect(runs).toHaveLength(1);
  });

  declare("H12.8 a slow reader gets every byte, and so does its retry", async ({ start, until }) => {
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 15; count++) yield chunk;
    }
    const { client, events } = await start({ handle: () => ({ status: 200, headers: binary, body: body() }) });
    const headers = keyed();
    const connection = client.open();
    connection.pause();
    connection.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nConnection: close\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    await until("the handler runs", () => events("claimed").length === 1);
    await tick(20);
    connection.resume();
    const [, ...rest] = (await connection.ended()).split("\r\n\r\n");
    expect(rest.join().split("x").length - 1).toBe(15 * chunk.byteLength);
    expect((await client.send({ headers, body: "{}" })).body.byteLength).toBe(15 * chunk.byteLength);
  });

  declare("H12.9 a body that comes byte by byte counts as one that comes at once", async ({ start }) => {
    const { client, runs } = await start();
    const headers = keyed();
    const body = '{"amount":1,"b":2}';
    const connection = client.open();
    connection.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    for (const character of body) {
      connection.write(character);
      await tick();
    }
    await connection.until(/done/);
    connection.destroy();
    expect((await client.send({ headers, body })).replayed).toBe(true);
    expect(runs).toHaveLength(1);
  });
};
