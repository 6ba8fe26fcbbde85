import { compareOn } from "../grid.ts";
import type { Suite } from "../result.ts";

export const pgliteSuite: Suite = {
  name: "pglite",
  run: (context) =>
    compareOn({
      context,
      id: "pglite",
      title: "PGlite",
      places: {},
      lineup: [
        ["raw PGlite", "raw PGlite"],
        ["raw PGlite (A/A)", "raw PGlite"],
        ["Onceward", "Onceward, PGlite"],
      ],
      settings: [
        { scenario: "new", concurrency: 50, bodyBytes: 200 },
        { scenario: "replay", concurrency: 50, bodyBytes: 200 },
      ],
      about: "The same statements on PGlite, Postgres in the process itself.",
      empty: async () => {},
    }),
};
