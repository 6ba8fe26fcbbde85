import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { CachePersistenceLayer } from "@aws-lambda-powertools/idempotency/cache";
import { createClient } from "@redis/client";
import type { MakeSubject, Payload } from "../subject.ts";

/**
 * Powertools for Lambda with its Redis persistence. Payloads are not compared: with `payloadValidationJmesPath` its Redis
 * persistence forgets the hash at completion, and every replay is refused.
 */
export const powertoolsRedis: MakeSubject = async (work, { redisUrl }) => {
  const client = await createClient({ url: redisUrl ?? "" }).connect();
  const config = new IdempotencyConfig({ eventKeyJmesPath: "key", expiresAfterSeconds: 24 * 3_600 });
  // What Lambda does; without it, a warning is printed for every request.
  config.registerLambdaContext({ getRemainingTimeInMillis: () => 60_000 } as never);
  const once = makeIdempotent(
    async (event: { readonly key: string; readonly payload: Payload }) => (await work(event.payload)) as never,
    {
      persistenceStore: new CachePersistenceLayer({ client: client as never }),
      config,
    },
  );
  return {
    request: (key, payload) => Promise.resolve(once({ key, payload })),
    close: () => client.close(),
  };
};
