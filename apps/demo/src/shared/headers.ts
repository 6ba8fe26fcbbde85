/** Headers by which the balancer, the scenes and the service name a request. All are optional. */

/** Names the request; the balancer gives every request one. */
export const REQUEST_HEADER = "x-playground-request";
/** Names the performance of a scene that it belongs to. */
export const RUN_HEADER = "x-playground-run";
/** Which process shall serve it, `A` or `B`; otherwise they take turns. */
export const INSTANCE_HEADER = "x-playground-instance";
