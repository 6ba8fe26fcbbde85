import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import type { BindingSuite } from "./suite.ts";
import { door, eventually, keyed, text, type Worlds } from "./world.ts";

/** Clients that vanish, and clients that pipeline. */
export function clients<Request>(worlds: Worlds<Request>, { patienceMs = 10_000 }: BindingSuite<Request>): void {
  it("keeps the outcome for a client that vanished during the handler", async () => {
    const { open, opened } = door();
    const { client, runs, once } = await worlds.start({
      handle: async () => {
        await opened;
        return text("finished all the same");
      },
    });
    let completed = false;
    once.on("completed", () => {
      completed = true;
    });
    const headers = keyed();
    const vanish = client.vanishing({ headers, body: "{}" });
    await eventually("the handler runs", patienceMs, () => runs.length === 1);
    vanish();
    open();
    await eventually("the outcome is kept", patienceMs, () => completed);
    const retry = await client.send({ headers, body: "{}" });
    expect([retry.body.toString(), retry.headers["idempotent-replayed"]]).toEqual(["finished all the same", "true"]);
    expect(runs).toHaveLength(1);
  });

  it("reads a stream to its end for a client that vanished in the middle", async () => {
    const { open, opened } = door();
    const chunk = new Uint8Array(64_000).fill(7);
    async function* body(): AsyncGenerator<Uint8Array> {
      yield chunk;
      await opened;
      for (let count = 1; count < 10; count++) yield chunk;
    }
    const { client, runs, once } = await worlds.start({
      handle: () => ({ status: 200, headers: [["Content-Type", "application/octet-stream"]], body: body() }),
    });
    let completed = false;
    once.on("completed", () => {
      completed = true;
    });
    const headers = keyed();
    const vanish = client.vanishing({ headers, body: "{}" });
    await eventually("the handler runs", patienceMs, () => runs.length === 1);
    vanish();
    // Long enough for the server to have noticed on most runs; it must hold on the others too.
    await new Promise((resolve) => setTimeout(resolve, 50));
    open();
    await eventually("the outcome is kept", patienceMs, () => completed);
    const retry = await client.send({ headers, body: "{}" });
    expect(retry.body.byteLength).toBe(10 * chunk.byteLength);
    expect(runs).toHaveLength(1);
  });

  it("stops waiting for a client that vanished, and runs nothing for it", async () => {
    const { open, opened } = door();
    const { client, runs, once } = await worlds.start({
      handle: async (context, run) => {
        if (context.protected) await opened;
        return text(`run ${run}`, 500);
      },
    });
    let waiting = 0;
    once.on("waiting", () => {
      waiting += 1;
    });
    const headers = keyed();
    const first = client.send({ headers, body: "{}" });
    await eventually("the handler runs", patienceMs, () => runs.length === 1);
    const vanish = client.vanishing({ headers, body: "{}" });
    await eventually("the duplicate waits", patienceMs, () => waiting === 1);
    vanish();
    // The server must have seen it go: a request on a new connection is answered after that.
    await client.send({ method: "GET" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    open();
    expect((await first).status).toBe(500);
    await client.send({ method: "GET" });
    expect(runs.filter((context) => context.protected)).toHaveLength(1);
  });

  it("answers pipelined duplicates in order", async () => {
    const { client, runs } = await worlds.start();
    const key = randomUUID();
    const one = (connection: string) =>
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: 0\r\nConnection: ${connection}\r\n\r\n`;
    const reply = await client.raw(one("keep-alive") + one("close"));
    expect(reply.match(/HTTP\/1\.1 201 /g)).toHaveLength(2);
    expect(reply.match(/idempotent-replayed: true/gi)).toHaveLength(1);
    expect(runs).toHaveLength(1);
  });

  it("speaks HTTP/1.0", async () => {
    const { client } = await worlds.start();
    const reply = await client.raw(
      `POST /orders HTTP/1.0\r\nHost: a\r\nIdempotency-Key: ${randomUUID()}\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.[01] 201 [\s\S]*done/);
  });
}
