/**
 * The part of an ioredis client (version 5 or 6) that the store uses: `Redis`, also behind Sentinel, or `Cluster`.
 * Whatever has these members will do.
 */
export interface IoredisClient {
  readonly options: { readonly keyPrefix?: string | undefined };
  createBuiltinCommand(name: string): { readonly buffer: unknown };
  pipeline(): unknown;
  duplicate(): unknown;
  // Methods, not function properties: TypeScript then accepts ioredis' many overloads.
  info(section: string): Promise<unknown>;
  config(subcommand: "GET", name: string): Promise<unknown>;
  script(subcommand: "LOAD", lua: string): Promise<unknown>;
  script(subcommand: "FLUSH"): Promise<unknown>;
  ping(): Promise<unknown>;
}

/** The part of a node-redis client (`createClient()` of `redis` 4 and later) that the store uses. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  sendCommand(command: never, options?: never): Promise<unknown>;
  duplicate(): unknown;
}

/** What `redisStore` takes: the caller's own client, which the store never closes. */
export type RedisClient = IoredisClient | NodeRedisClient;
