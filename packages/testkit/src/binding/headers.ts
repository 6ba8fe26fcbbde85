import { expect } from "vitest";
import { type Group, keyed, text } from "./world.ts";

/** H6: which headers replays have. */
export const headers: Group = (declare) => {
  declare("H6.1 the handler's headers come back, repeated ones line by line in their order", async ({ start }) => {
    const { client } = await start({
      handle: () =>
        text("done", 201, [
          ["X-Order", "17"],
          ["X-Empty", ""],
          ["Link", "</a>; rel=a"],
          ["Link", "</b>; rel=b"],
          ["Cache-Control", "no-store"],
          ["ETag", '"abc"'],
        ]),
    });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect(replay.headers["link"]).toBe("</a>; rel=a, </b>; rel=b");
    for (const name of ["x-order", "x-empty", "link", "cache-control", "etag", "content-type", "content-length"])
      expect([name, replay.headers[name]]).toEqual([name, first.headers[name]]);
    expect(first.headers).toMatchObject({ "x-order": "17", "x-empty": "", etag: '"abc"' });
  });

  declare("H6.2 what belongs to the first exchange is not kept; a dropped cookie is told", async ({ start }) => {
    const { client, events } = await start({
      handle: () =>
        text("done", 201, [
          ["Set-Cookie", "session=secret"],
          ["Set-Cookie", "theme=dark"],
          ["Access-Control-Allow-Origin", "https://first.example"],
          ["RateLimit-Remaining", "3"],
          ["Server-Timing", "db;dur=53"],
        ]),
    });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    expect(first.headers["set-cookie"]).toEqual(["session=secret", "theme=dark"]);
    expect(first.headers["access-control-allow-origin"]).toBe("https://first.example");
    const replay = await client.send({ headers, body: "{}" });
    for (const name of ["set-cookie", "access-control-allow-origin", "ratelimit-remaining", "server-timing"])
      expect([name, replay.headers[name]]).toEqual([name, undefined]);
    expect(events("header-dropped").map(({ header }) => header)).toEqual(["set-cookie"]);
  });

  declare("H6.3 what stood on the response before is neither kept nor overwritten", async ({ start }) => {
    const before: [string, string][] = [
      ["X-Request-Id", "this exchange"],
      ["X-Theme", "light"],
      ["Access-Control-Allow-Origin", "https://first.example"],
    ];
    const { client, runs } = await start({ before, handle: () => text("done", 201, [["X-Theme", "dark"]]) });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    before[0] = ["X-Request-Id", "another exchange"];
    before[2] = ["Access-Control-Allow-Origin", "https://second.example"];
    const replay = await client.send({ headers, body: "{}" });
    const shown = (reply: typeof first) =>
      ["x-request-id", "x-theme", "access-control-allow-origin"].map((name) => reply.headers[name]);
    expect(shown(first)).toEqual(["this exchange", "dark", "https://first.example"]);
    expect(shown(replay)).toEqual(["another exchange", "dark", "https://second.example"]);
    const rejected = await client.send({ headers, body: "[]" });
    expect([rejected.status, rejected.headers["x-request-id"]]).toEqual([422, "another exchange"]);
    expect(runs).toHaveLength(1);
  });

  declare("H6.4 `keepHeaders` changes the policy", async ({ start }) => {
    const { client } = await start({
      options: { keepHeaders: (name, keptByDefault) => name === "set-cookie" || (keptByDefault && name !== "x-drop") },
      handle: () =>
        text("done", 201, [
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["X-Drop", "1"],
          ["X-Stay", "1"],
        ]),
    });
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect(replay.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect([replay.headers["x-drop"], replay.headers["x-stay"]]).toEqual([undefined, "1"]);
  });
};
