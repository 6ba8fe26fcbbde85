export type { BindingSetup, BindingSuite, KitResponse } from "./binding/suite.ts";
export { testBinding } from "./binding.ts";
export type { Inspection, StoreCase, StoreSuite } from "./store/suite.ts";
export { storeCases, testStore } from "./store.ts";
