export type { Inspection, StoreCase, StoreSuite } from "./store/suite.ts";
export { storeCases, testStore } from "./store.ts";
