export type { IoredisClient, IoredisPipeline, NodeRedisClient, RedisClient } from "./client.ts";
export type { WaitReplicas } from "./driver.ts";
export type { CommonOptions, RedisStoreOptions } from "./options.ts";
export { type RedisStore, redisStore } from "./redis-store.ts";
