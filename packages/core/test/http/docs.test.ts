import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { problemCodes } from "../../src/http/problem.ts";
import { resolveHttpOptions } from "../../src/http/resolve-options.ts";
import { dialects, type HttpOptions, openapiIdempotency } from "../../src/index.ts";

const page = readFileSync(new URL("../../../../docs/http.md", import.meta.url), "utf8");
const section = (heading: string) => page.split(/^## /m).find((part) => part.startsWith(heading)) ?? "";

/** The names that an unknown option's error lists. */
function names(where: string, wrong: HttpOptions<unknown>): string[] {
  try {
    resolveHttpOptions(where, [wrong]);
  } catch (error) {
    return (error as Error).message.split("; it has ")[1]?.split(", ") ?? [];
  }
  return [];
}

describe("docs/http.md", () => {
  const unknown = { unknown: 1 } as never;
  const options = names("idempotency", unknown).filter((name) => name !== "replay");
  const replay = names("idempotency", { replay: unknown }).map((name) => `replay.${name}`);

  it("finds the options", () => {
    expect(options.length).toBeGreaterThan(25);
    expect(replay).toHaveLength(5);
  });

  it.each([...options, ...replay])("has a row for the option %s", (name) => {
    expect(section("Every option")).toContain(`| \`${name}\` | `);
  });

  it.each(problemCodes)("tells clients of %s with its status", (code) => {
    const row =
      section("The policy")
        .split("\n")
        .find((line) => line.includes(`[\`${code}\`]`)) ?? "";
    const { responses } = openapiIdempotency({ required: true, takeover: false });
    const [status] = Object.entries(responses).find(([, { content }]) => JSON.stringify(content).includes(code)) ?? [
      "503",
    ];
    expect(row).toMatch(new RegExp(`^\\| ${status} \\|`));
  });

  it.each(Object.keys(openapiIdempotency().headers))("names the replay header %s, for CORS too", (name) => {
    expect(section("The policy")).toContain(`| \`${name}\` |`);
    expect(section("For browsers")).toMatch(new RegExp(`Expose-Headers:.*\\b${name}\\b`));
  });

  it.each(Object.keys(dialects))("has a row for the dialect %s", (name) => {
    expect(section("Dialects")).toContain(`| \`${name}\` | `);
  });
});
