import type { Ratio } from "./statistics.ts";

/** A cell of a table. */
export type Cell = string | number | Ratio | null;

/** A table as data; `tables.ts` writes it down. */
export interface Table {
  readonly id: string;
  readonly title: string;
  /** What its figures are, and what a reader must know of them. */
  readonly about: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** What a suite has found: tables to read, and single figures to check targets by. */
export interface SuiteResult {
  readonly tables: readonly Table[];
  readonly figures: Readonly<Record<string, number>>;
}

/** One whole run. */
export interface RunResult {
  readonly at: string;
  readonly mode: string;
  readonly machine: Readonly<Record<string, string | number | boolean>>;
  readonly suites: Readonly<Record<string, SuiteResult>>;
}

/** What suites are given. */
export interface SuiteContext {
  readonly full: boolean;
  readonly rounds: number;
  readonly sliceMs: number;
  readonly progress: (text: string) => void;
}

/** A group of measurements. */
export interface Suite {
  readonly name: string;
  run(context: SuiteContext): Promise<SuiteResult>;
}
