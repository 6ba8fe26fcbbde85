import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { tick } from "../store/waiting.ts";
import { type Group, keyed, text } from "./world.ts";

/** H13: HTTP as it is spoken by others than browsers. */
export const wire: Group = (declare) => {
  declare("H13.1 pipelined duplicates are answered in order", async ({ start }) => {
    const { client, runs } = await start();
    const key = randomUUID();
    const one = (connection: string) =>
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: 0\r\nConnection: ${connection}\r\n\r\n`;
    const reply = await client.raw(one("keep-alive") + one("keep-alive") + one("close"));
    expect(reply.match(/HTTP\/1\.1 201 /g)).toHaveLength(3);
    expect(reply.match(/idempotent-replayed: true/gi)).toHaveLength(2);
    expect(runs).toHaveLength(1);
  });

  declare("H13.2 a connection serves on after a new request, a replay, a 204 and every error", async ({ start }) => {
    const { client } = await start({ handle: (_context, run) => (run === 1 ? { status: 204 } : text("next")) });
    const connection = client.open();
    const key = randomUUID();
    const post = (name: string, body: string, last = false) =>
      `POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${name}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${last ? "Connection: close\r\n" : ""}\r\n${body}`;
    const statuses = () =>
      [...connection.received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
    const asks = [post(key, "{}"), post(key, "{}"), post(key, "[]"), post('"', "{}"), post(`${key}2`, "{}", true)];
    for (const [index, ask] of asks.entries()) {
      connection.write(ask);
      await connection.until(new RegExp(`(HTTP/1\\.1 [^]*){${index + 1}}\r\n\r\n`));
    }
    await connection.ended();
    expect(statuses()).toEqual([204, 204, 422, 400, 201]);
  });

  declare("H13.3 HTTP/1.0 is spoken, for the first request and its replay", async ({ start }) => {
    const { client, runs } = await start();
    const ask = `POST /orders HTTP/1.0\r\nHost: a\r\nIdempotency-Key: ${randomUUID()}\r\nContent-Length: 0\r\n\r\n`;
    for (const replayed of [false, true]) {
      const reply = await client.raw(ask);
      expect(reply).toMatch(/^HTTP\/1\.[01] 201 [\s\S]*\r\n\r\n(4\r\n)?done/);
      expect(/idempotent-replayed: true/i.test(reply)).toBe(replayed);
    }
    expect(runs).toHaveLength(1);
  });

  declare("H13.4 a client that expects 100 Continue gets it, and then its answer", async ({ start }) => {
    const { client, runs } = await start();
    const key = randomUUID();
    for (const replayed of [false, true]) {
      const connection = client.open();
      connection.write(
        `POST /orders HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\nIdempotency-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n`,
      );
      await connection.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
      connection.write("{}");
      const reply = await connection.ended();
      expect(reply).toMatch(/HTTP\/1\.1 201 /);
      expect(/idempotent-replayed: true/i.test(reply)).toBe(replayed);
    }
    expect(runs).toHaveLength(1);
  });

  declare("H13.5 a chunked body counts as one of known length", async ({ start }) => {
    const { client, runs } = await start();
    const headers = keyed();
    const reply = await client.raw(
      `POST /orders HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 201 /);
    expect((await client.send({ headers, body: '{"a":1}' })).replayed).toBe(true);
    expect(runs).toHaveLength(1);
  });

  declare("H13.6 a malformed request leaves no trace", async ({ start }) => {
    const { client, runs, faults } = await start();
    const malformed = [
      "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\x00b\r\nContent-Length: 0\r\n\r\n",
      "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nContent-Length: -1\r\n\r\n",
      "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key\r\n\r\n",
      "nonsense\r\n\r\n",
    ];
    for (const bytes of malformed) expect(await client.raw(bytes)).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
    expect([runs.length, faults.calls]).toEqual([0, []]);
  });

  declare("H13.8 a target in absolute form names the same operation", async ({ start }) => {
    const { client, runs } = await start();
    const headers = `Host: a\r\nConnection: close\r\nContent-Length: 0\r\nIdempotency-Key: ${randomUUID()}`;
    expect(await client.raw(`POST /orders HTTP/1.1\r\n${headers}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 201 /);
    const reply = await client.raw(`POST http://a/orders HTTP/1.1\r\n${headers}\r\n\r\n`);
    // Frameworks that don't know such targets find no route.
    expect(reply).toMatch(/^HTTP\/1\.1 (201 [\s\S]*idempotent-replayed: true|4\d\d )/i);
    expect(runs).toHaveLength(1);
  });

  declare("H13.7 HEAD and OPTIONS are answered as ever, key or no key", async ({ start }) => {
    const { client, runs, faults } = await start();
    for (const method of ["HEAD", "OPTIONS"])
      for (const headers of [{}, { "idempotency-key": randomUUID() }])
        expect((await client.send({ method, headers })).status).toBe(201);
    await tick();
    expect([runs.length, faults.calls]).toEqual([4, []]);
  });
};
