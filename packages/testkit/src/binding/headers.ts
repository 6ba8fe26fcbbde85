import { expect, it } from "vitest";
import { keyed, text, type Worlds } from "./world.ts";

/** Which headers replays have. */
export function headers<Request>(worlds: Worlds<Request>): void {
  it("replays the handler's headers, repeated ones too, and drops cookies", async () => {
    const { client, once } = await worlds.start({
      handle: () =>
        text("done", 201, [
          ["X-Order", "17"],
          ["Link", "</a>; rel=a"],
          ["Link", "</b>; rel=b"],
          ["Set-Cookie", "session=secret"],
          ["Access-Control-Allow-Origin", "https://first.example"],
          ["RateLimit-Remaining", "3"],
        ]),
    });
    const dropped: string[] = [];
    once.on("header-dropped", (event) => void dropped.push(event.header));
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    expect(first.headers["set-cookie"]).toEqual(["session=secret"]);
    const replay = await client.send({ headers, body: "{}" });
    expect(replay.headers["x-order"]).toBe("17");
    expect(replay.headers["link"]).toBe("</a>; rel=a, </b>; rel=b");
    expect(replay.headers["set-cookie"]).toBeUndefined();
    expect(replay.headers["access-control-allow-origin"]).toBeUndefined();
    expect(replay.headers["ratelimit-remaining"]).toBeUndefined();
    expect(dropped).toEqual(["set-cookie"]);
  });

  it("neither keeps nor overwrites what was on the response before, unless the handler changed it", async () => {
    const before: [string, string][] = [
      ["X-Request-Id", "this exchange"],
      ["X-Theme", "light"],
    ];
    const { client, runs } = await worlds.start({ before, handle: () => text("done", 201, [["X-Theme", "dark"]]) });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    before[0] = ["X-Request-Id", "another exchange"];
    const replay = await client.send({ headers, body: "{}" });
    expect(runs).toHaveLength(1);
    expect([first.headers["x-request-id"], first.headers["x-theme"]]).toEqual(["this exchange", "dark"]);
    expect([replay.headers["x-request-id"], replay.headers["x-theme"]]).toEqual(["another exchange", "dark"]);
  });

  it("says when the first request came and when its outcome expires", async () => {
    const { client } = await worlds.start();
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    const [came, expires] = ["x-original-request-time", "x-idempotent-expires"].map((name) =>
      Date.parse(String(replay.headers[name])),
    );
    expect(came).toBeLessThanOrEqual(Date.now());
    expect(expires).toBeGreaterThan(Date.now());
  });

  it("marks replays under other names where asked to", async () => {
    const { client } = await worlds.start({
      options: { replay: { replayedHeader: "X-Idempotency-Cached", keyHeader: false, status: 200 } },
    });
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect(replay.status).toBe(200);
    expect(replay.headers["x-idempotency-cached"]).toBe("true");
    expect(replay.headers["idempotency-key"]).toBeUndefined();
  });
}
