import { vi } from "vitest";

/** Loads a module of core anew, as an edge runtime sees it: without Node's builtins. */
export async function onTheEdge<Module>(load: () => Promise<Module>): Promise<Module> {
  const getBuiltinModule = process.getBuiltinModule;
  vi.resetModules();
  try {
    Reflect.deleteProperty(process, "getBuiltinModule");
    return await load();
  } finally {
    process.getBuiltinModule = getBuiltinModule;
    vi.resetModules();
  }
}
