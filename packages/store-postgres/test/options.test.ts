import { InvalidOptionError } from "@onceward/core";
import { Client, Pool } from "pg";
import { describe, expect, it } from "vitest";
import { type PostgresStoreOptions, postgresStore } from "../src/index.ts";

// None of these connects.
const client = new Pool();
const refuses = (options: object, message: RegExp) => {
  const construct = () => postgresStore(options as PostgresStoreOptions);
  expect(construct).toThrow(InvalidOptionError);
  expect(construct).toThrow(message);
};

describe("names", () => {
  const wrong = ['a"; drop table users; --', "a'b", "a.b", "a b", "1a", "", "a\0b", "ü", "t".repeat(53), 7, null, {}];

  it.each(["schema", "table", "archive"])("of `%s` are letters, digits and underscores", (option) => {
    for (const name of wrong) {
      if (name === null) continue;
      refuses({ client, [option]: name }, new RegExp(`\`${option}\` must be letters, digits and underscores`));
    }
  });

  it("of a setting have a dot, and nothing that could end the quotes", () => {
    for (const setting of [...wrong, "tenant", "app.", ".tenant", "app.a'b"]) {
      if (setting !== "a.b") refuses({ client, rls: { setting } }, /`rls.setting` must be the name of a setting/);
    }
  });

  it("of the archive differ from the table's", () => {
    refuses({ client, table: "records", archive: "records" }, /`archive` must name another table/);
  });
});

describe("options", () => {
  it("of an unknown name are told, with the known ones", () => {
    refuses({ client, tableName: "x" }, /unknown option `tableName`; known are client, schema, table/);
  });

  it.each(["timeoutMs", "sweepBatch"])("`%s` is a whole number of at least 1", (option) => {
    for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, "5"]) {
      refuses({ client, [option]: value }, new RegExp(`\`${option}\` must be a whole number of at least 1`));
    }
  });

  it.each(["prepare", "listen", "rls"])("`%s` is not a string", (option) => {
    refuses({ client, [option]: "yes" }, new RegExp(`\`${option}\` must be true or false`));
  });

  it("that are undefined are absent", () => {
    postgresStore({ client, schema: undefined, timeoutMs: undefined, listen: undefined, archive: undefined });
  });

  it("want a client", () => {
    for (const wrong of [undefined, null, "postgres://localhost", {}]) {
      refuses({ client: wrong }, /`client` must be a pg.Pool, a connected pg.Client or a PGlite/);
    }
    expect(() => postgresStore(undefined as never)).toThrow(InvalidOptionError);
  });

  it("want room for LISTEN in the pool", () => {
    refuses({ client: new Pool({ max: 1 }) }, /this pool has only one: raise its `max`, or set `listen`/);
    postgresStore({ client: new Pool({ max: 1 }), listen: false });
  });

  it("know that PGlite has no other connection to listen on", () => {
    const pglite = { query: async () => ({ rows: [] }), exec: async () => [], listen: async () => async () => {} };
    refuses({ client: pglite, listen: async () => new Client() }, /`listen` is true or false with PGlite/);
    postgresStore({ client: pglite });
  });
});
