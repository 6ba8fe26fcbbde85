import { expect } from "vitest";
import { tick } from "../store/waiting.ts";
import { door, type Group, keyed, text } from "./world.ts";

const binary = [["Content-Type", "application/octet-stream"]] as const;

/** H11: streamed bytes flow; the end of the response waits for the store. */
export const order: Group = (declare) => {
  for (const [index, kind] of (["whole", "streamed"] as const).entries()) {
    declare(`H11.${index + 1} the end of a ${kind} response waits for the store`, async ({ start, until }) => {
      const { open: letStore, opened } = door();
      async function* chunks() {
        yield Buffer.from("all ");
        yield Buffer.from("of it");
      }
      const { client, faults } = await start({
        options: { completeWaitMs: 60_000 },
        handle: () => (kind === "whole" ? text("all of it") : { status: 201, headers: binary, body: chunks() }),
      });
      faults.held.set("complete", opened);
      let answered = false;
      const reply = client.send({ headers: keyed(), body: "{}" }).finally(() => {
        answered = true;
      });
      await until("the outcome is on its way to the store", () => faults.calls.includes("complete"));
      await tick(30);
      expect(answered).toBe(false);
      letStore();
      expect((await reply).text).toBe("all of it");
    });
  }

  declare("H11.3 at most for `completeWaitMs`; duplicates get the true result all the same", async ({ start }) => {
    const { open, opened } = door();
    const { client, runs, faults } = await start({ options: { completeWaitMs: 20 } });
    faults.held.set("complete", opened);
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    expect([first.status, first.text]).toEqual([201, "done"]);
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.text, replay.replayed, runs.length]).toEqual(["done", true, 1]);
    open();
  });

  declare("H11.4 streamed bytes reach the client while the handler is still at it", async ({ start }) => {
    const { open, opened } = door();
    async function* chunks() {
      yield Buffer.from("first;");
      await opened;
      yield Buffer.from("second;");
    }
    const { client, runs } = await start({ handle: () => ({ status: 200, headers: binary, body: chunks() }) });
    const headers = keyed();
    const connection = client.open();
    connection.write(
      `POST /orders HTTP/1.1\r\nHost: a\r\nConnection: close\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    expect(await connection.until(/first;/)).not.toContain("second;");
    open();
    await connection.until(/second;/);
    await connection.ended();
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.text, replay.replayed, runs.length]).toEqual(["first;second;", true, 1]);
  });
};
