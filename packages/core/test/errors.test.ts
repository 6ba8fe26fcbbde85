import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as core from "../src/index.ts";
import { onTheEdge } from "./runtimes.ts";

const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
const source = readFileSync(new URL("../src/errors.ts", import.meta.url), "utf8");
const union = source.slice(source.indexOf("type ErrorCode"), source.indexOf(";"));
const codes = [...union.matchAll(/"(ERR_\w+)"/g)].map(([, code]) => code as core.ErrorCode);
const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);

/** One of each class that core exports. */
const errors: readonly core.OncewardError[] = Object.values(core).flatMap((exported) => {
  if (typeof exported !== "function" || !(exported.prototype instanceof core.OncewardError)) return [];
  const Class = exported as new (first: unknown) => core.OncewardError;
  return new Class(exported === core.RecordedFailureError ? { name: "CardError", message: "m" } : "m");
});

describe("error codes", () => {
  it("have one class each", () => {
    expect(codes.length).toBeGreaterThan(10);
    expect(errors.map(({ code }) => code).sort()).toEqual([...codes].sort());
  });

  it("have one heading each in docs/errors.md, and no other has", () => {
    expect(headings.sort()).toEqual([...codes].sort());
  });

  it.each(errors.map((error) => [error.code, error] as const))("%s links to its heading", (code, error) => {
    // GitHub makes the anchor of a heading so.
    const anchors = headings.map((heading) => heading?.toLowerCase());
    const [address, anchor] = error.documentation.split("#");
    expect(address).toMatch(/\/docs\/errors\.md$/);
    expect(anchors).toContain(anchor);
    expect(anchor).toBe(code.toLowerCase());
  });

  it.each(errors.map((error) => [error.code, error] as const))("%s: docs say whether to retry", (code, error) => {
    const section = page.slice(page.indexOf(`### ${code}\n`)).split("\n### ")[0] ?? "";
    expect(section).toMatch(error.retryable ? /^Retryable: yes/m : /^Retryable: no/m);
  });
});

describe("errors", () => {
  it("are named after their class, and keep cause and delay", () => {
    for (const error of errors) {
      expect(error).toBeInstanceOf(core.OncewardError);
      expect(error.name).toBe(error.constructor.name);
      expect(error.message).toBe("m");
      expect(String(error)).toBe(`${error.name}: m`);
    }
    const cause = new Error("driver");
    expect(new core.StoreUnavailableError("m", { cause, retryAfterMs: 7 })).toMatchObject({ cause, retryAfterMs: 7 });
    expect("cause" in new core.StoreUnavailableError("m")).toBe(false);
    expect(new core.LeaseLostError("m", "max-run").reason).toBe("max-run");
  });

  it("are told from others across copies of the package", async () => {
    const copy = await onTheEdge(() => import("../src/errors.ts"));
    const foreign = new copy.StoreUnavailableError("m");
    expect(foreign).not.toBeInstanceOf(core.StoreUnavailableError);
    expect(core.isOncewardError(foreign)).toBe(true);
    expect(core.isOncewardError(foreign, "ERR_STORE_UNAVAILABLE")).toBe(true);
    expect(core.isOncewardError(foreign, "ERR_STORE_CLOSED")).toBe(false);
  });

  it.each([undefined, null, "ERR_CLOSED", 1, new Error("m"), { code: "ERR_CLOSED" }])("are not %s", (other) => {
    expect(core.isOncewardError(other)).toBe(false);
  });
});
