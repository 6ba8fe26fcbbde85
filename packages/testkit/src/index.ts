export type { BindingCase, BindingSetup, BindingSuite, KitProcess, KitResponse, KitServer } from "./binding/suite.ts";
export { bindingCases, testBinding } from "./binding.ts";
export type { Inspection, StoreCase, StoreSuite } from "./store/suite.ts";
export { storeCases, testStore } from "./store.ts";
