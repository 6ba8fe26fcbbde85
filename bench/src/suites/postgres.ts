import { compareOn } from "../grid.ts";
import type { Suite } from "../result.ts";
import { benchPostgres } from "../servers.ts";

/** Truncating keeps every slice on tables of the same size. */
export const emptyTables = `DO $$ BEGIN
  IF to_regclass('raw') IS NOT NULL THEN TRUNCATE raw; END IF;
  IF to_regclass('onceward.records') IS NOT NULL THEN TRUNCATE onceward.records; END IF;
END $$`;

export const postgresSuite: Suite = {
  name: "postgres",
  async run(context) {
    const postgres = await benchPostgres();
    try {
      return await compareOn({
        context,
        id: "postgres",
        title: "Postgres",
        places: { postgresUrl: postgres.url },
        lineup: [
          ["raw pg", "raw pg"],
          ["raw pg (A/A)", "raw pg"],
          ["Onceward", "Onceward, Postgres"],
        ],
        about:
          "Requests a second beside raw `pg` (`INSERT … ON CONFLICT` and `UPDATE`; `SELECT`), all prepared, pools of 10, no wait for the disk.",
        empty: () => postgres.query(emptyTables),
      });
    } finally {
      await postgres.stop();
    }
  },
};
