import { defineConfig, type Options } from "tsup";

/** What every package shares. A package states only its difference. */
export const library = (difference: Options = {}) =>
  defineConfig({
    entry: ["src/index.ts"],
    format: ["esm", "cjs"],
    dts: true,
    clean: true,
    sourcemap: true,
    target: "node20",
    ...difference,
  });
