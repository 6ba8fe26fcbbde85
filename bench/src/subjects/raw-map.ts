import type { MakeSubject } from "../subject.ts";

/** The limit of anything in memory. */
export const rawMap: MakeSubject = async (work) => {
  const results = new Map<string, string>();
  return {
    request: async (key, payload) => {
      const stored = results.get(key);
      if (stored !== undefined) return JSON.parse(stored);
      results.set(key, "running");
      const result = await work(payload);
      results.set(key, JSON.stringify(result));
      return result;
    },
    close: async () => {},
  };
};
