import { once as event } from "node:events";
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { gunzipSync } from "node:zlib";
import compression from "compression";
import express, { type Request, type Response } from "express";
import express4 from "express-4";
import { afterAll, describe, expect, it, vi } from "vitest";
import { idempotency } from "../src/index.ts";
import { listen, post, testOnce } from "./app.ts";

const folder = mkdtempSync(join(tmpdir(), "onceward-"));
const file = join(folder, "report.txt");
const content = "a line of the report\n".repeat(20_000);
writeFileSync(file, content);
afterAll(() => rmSync(folder, { recursive: true }));

const scope = "shared";
const ways: [string, (req: Request, res: Response) => unknown, status?: number][] = [
  ["res.json", (_req, res) => res.json({ ok: true })],
  ["res.send of text", (_req, res) => res.send("<p>text</p>")],
  ["res.send of bytes", (_req, res) => res.send(Buffer.from([0, 255, 254]))],
  ["res.sendStatus", (_req, res) => res.sendStatus(202), 202],
  ["res.end", (_req, res) => res.end("ended")],
  ["res.end with an encoding", (_req, res) => res.end("c3a9", "hex")],
  ["res.write", (_req, res) => res.write("a") && res.write("b", "latin1") && res.end()],
  ["res.writeHead", (_req, res) => res.writeHead(201, "Made", { "X-Made": "1", Link: ["<a>", "<b>"] }).end("x"), 201],
  ["res.writeHead with pairs", (_req, res) => res.writeHead(200, ["X-Made", "1", "X-More", "2"]).end("x")],
  ["pipe", (_req, res) => createReadStream(file).pipe(res)],
  ["pipeline", (_req, res) => pipeline(createReadStream(file), res)],
  ["res.sendFile", (_req, res) => res.sendFile(file)],
  ["res.download", (_req, res) => res.download(file, "renamed.txt")],
  ["res.redirect", (_req, res) => res.redirect(303, "/elsewhere"), 303],
  ["early hints", (_req, res) => res.writeEarlyHints({ link: "</a>; rel=preload" }, () => res.send("page"))],
  ["flushed headers", (_req, res) => [res.flushHeaders(), res.end("later")]],
];
const ofExchange = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length"]);

describe.each([
  ["Express 5", express],
  ["Express 4", express4],
])("%s", (_name, framework) => {
  it.each(ways)("replays what went through %s", async (_way, answer, status = 200) => {
    const app = framework();
    const handler = vi.fn(answer);
    app.post("/", idempotency(testOnce(), { scope }), (req, res) => void handler(req, res));
    const { url } = await listen(app);
    const [first, replay] = [await post(url, "k"), await post(url, "k")];
    expect(handler).toHaveBeenCalledTimes(1);
    expect([first.status, first.replayed, replay.status, replay.replayed]).toEqual([status, false, status, true]);
    expect(replay.body.equals(first.body)).toBe(true);
    for (const [name, value] of first.headers)
      if (!ofExchange.has(name)) expect([name, replay.headers.get(name)]).toEqual([name, value]);
  });

  it.each<[string, (res: Response) => unknown]>([
    ["a body that is none", (res) => res.end(5 as unknown as string)],
    ["a status that is none", (res) => Object.assign(res, { statusCode: 1000 }).end("x")],
    ["a reason that is none", (res) => Object.assign(res, { statusMessage: "two\nlines" }).end("x")],
    ["a head that is none", (res) => res.writeHead(201, "two\nlines").end("x")],
  ])("gives %s to the error handler, as Node does, and keeps nothing", async (_what, answer) => {
    const app = framework();
    const handler = vi.fn(answer);
    app.post("/", idempotency(testOnce(), { scope }), (_req, res) => void handler(res));
    app.use((_error: unknown, _req: Request, res: Response, _next: unknown) => {
      res.statusMessage = "";
      res.status(500).send("failed");
    });
    const { url } = await listen(app);
    for (const { status, text } of [await post(url, "k"), await post(url, "k")])
      expect([status, text]).toEqual([500, "failed"]);
    expect(handler).toHaveBeenCalledTimes(2);
  });

  it("takes no notice of what a handler does after its end", async () => {
    const app = framework();
    app.post("/", idempotency(testOnce(), { scope }), (_req, res) => {
      res.status(201).set("X-Order", "17").send("done");
      expect([res.headersSent, res.writableEnded]).toEqual([true, true]);
      res.status(500);
      res.setHeader("X-Order", "changed");
      res.setHeader("X-Late", "1");
      res.write("more");
      res.writeHead(500, { "X-Late": "2" });
      res.flushHeaders();
      res.end("again");
    });
    const { url } = await listen(app);
    for (const reply of [await post(url, "k"), await post(url, "k")]) {
      expect([reply.status, reply.text, reply.headers.get("x-order")]).toEqual([201, "done", "17"]);
      expect(reply.headers.get("x-late")).toBeNull();
    }
  });

  it.each(["in front", "behind"])(
    "works with compression %s, and replays bytes that decode to the same",
    async (place) => {
      const app = framework();
      const guard = idempotency(testOnce(), { scope });
      const squeeze = compression({ threshold: 0 });
      app.post("/", ...(place === "in front" ? [squeeze, guard] : [guard, squeeze]), (_req, res) => res.send(content));
      const { port } = await listen(app);
      const ask = async (encoding: string) => {
        const socket = connect(port, "127.0.0.1");
        socket.write(
          `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n${encoding}\r\n`,
        );
        const chunks: Buffer[] = [];
        socket.on("data", (chunk) => void chunks.push(chunk));
        await event(socket, "close");
        const all = Buffer.concat(chunks);
        const end = all.indexOf("\r\n\r\n");
        const head = all.subarray(0, end).toString();
        const body = all.subarray(end + 4);
        return { head, body: /transfer-encoding: chunked/i.test(head) ? unchunk(body) : body };
      };
      for (const round of ["first", "replay"]) {
        const { head, body } = await ask("Accept-Encoding: gzip\r\n");
        expect(head).toMatch(/content-encoding: gzip/i);
        expect(/idempotent-replayed/i.test(head)).toBe(round === "replay");
        expect(gunzipSync(body).toString()).toBe(content);
      }
      // Capture sits inside compression: what is kept is not compressed, so this client can have it too.
      const plain = await ask("");
      if (place === "in front")
        expect([/content-encoding/i.test(plain.head), plain.body.toString()]).toEqual([false, content]);
      else expect(gunzipSync(plain.body).toString()).toBe(content);
    },
  );

  it.each(["sendFile", "pipe", "pipeline"])("keeps the outcome of %s for a client that went away", async (way) => {
    const once = testOnce();
    const app = framework();
    let gone: () => void = () => {};
    const clientGone = new Promise<void>((resolve) => {
      gone = resolve;
    });
    const errors: unknown[] = [];
    app.post("/", idempotency(once, { scope }), (req, res) => {
      req.socket.once("close", gone);
      void clientGone.then(() => {
        if (way === "sendFile") res.sendFile(file);
        else if (way === "pipe") createReadStream(file).pipe(res);
        else pipeline(createReadStream(file), res).catch((error: unknown) => errors.push(error));
      });
    });
    const { url, port } = await listen(app);
    const kept = new Promise((resolve) => once.on("completed", resolve));
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n");
    await new Promise((resolve) => once.on("claimed", resolve));
    socket.destroy();
    await kept;
    const retry = await post(url, "k");
    expect([retry.replayed, retry.text === content, errors]).toEqual([true, true, []]);
  });

  it.each(["before", "after"])(
    "goes on with a handler whose connection this side cut %s the first byte, as time-outs and shutdowns do",
    async (moment) => {
      const once = testOnce({ leaseMs: 300 });
      const app = framework();
      let runs = 0;
      const renewed = () =>
        new Promise<void>((resolve) => {
          const stop = once.on("lease-renewed", () => {
            stop();
            resolve();
          });
        });
      app.post("/", idempotency(once, { scope }), async (req, res) => {
        runs += 1;
        if (moment === "after") res.write("a");
        req.socket.destroy();
        // Far longer than a lease in all, and not silent for that long once it has begun to write.
        for (let part = 0; part < 6; part++) {
          await renewed();
          if (moment === "after") res.write("b");
        }
        res.end("c");
      });
      const { url } = await listen(app);
      const kept = new Promise((resolve) => once.on("completed", resolve));
      await expect(post(url, "k")).rejects.toThrow();
      await kept;
      const retry = await post(url, "k");
      expect([runs, retry.replayed, retry.text]).toEqual([1, true, moment === "after" ? "abbbbbbc" : "c"]);
    },
  );

  it("reads a file to its end when the client goes away in the middle", async () => {
    const once = testOnce();
    const app = framework();
    const large = join(folder, "large.bin");
    writeFileSync(large, Buffer.alloc(900_000, 1));
    app.post("/", idempotency(once, { scope }), (_req, res) => res.sendFile(large, { highWaterMark: 1_000 } as object));
    const { url, port } = await listen(app);
    const kept = new Promise((resolve) => once.on("completed", resolve));
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n");
    await event(socket, "data");
    socket.destroy();
    await kept;
    const retry = await post(url, "k");
    expect([retry.replayed, retry.body.byteLength]).toEqual([true, 900_000]);
  });
});

function unchunk(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.subarray(at, line).toString(), 16);
    if (!size) return Buffer.concat(parts);
    parts.push(body.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
