export type {
  PostgresCallback,
  PostgresClient,
  PostgresConnection,
  PostgresInProcess,
  PostgresNotification,
  PostgresPool,
  PostgresPoolConnection,
  PostgresQuery,
} from "./client.ts";
export type { PostgresOwnConnection, PostgresStoreOptions } from "./options.ts";
export { type PostgresStore, postgresStore } from "./store.ts";
