export type { IoredisClient, NodeRedisClient, RedisClient } from "./client.ts";
export type { WaitReplicas } from "./driver.ts";
export type { CommonOptions, RedisQuorumStoreOptions, RedisStoreOptions } from "./options.ts";
export { redisQuorumStore } from "./quorum/quorum-store.ts";
export { type RedisStore, redisStore } from "./redis-store.ts";
