import type { HeaderList } from "./headers.ts";

/** Whether a response is kept and replayed. If not, the next attempt runs. */
export type Keep = (status: number, headers: HeaderList) => boolean;
/** A {@link Keep} that only looks at the status. */
export type KeepStatus = (status: number) => boolean;

/** 2xx and 3xx. The default. */
export const keepSuccess: KeepStatus = (status) => status >= 200 && status < 400;

/** Answers that the same request would get again: another try can't help. */
const deterministic = new Set([400, 402, 404, 405, 406, 409, 410, 411, 413, 414, 415, 416, 417, 421, 422, 431, 451]);

/** 2xx, 3xx, 409 and the 4xx that won't change by trying again. */
export const keepDeterministic: KeepStatus = (status) => keepSuccess(status) || deterministic.has(status);

/** Everything, 500s included, as Stripe does: nothing ever runs twice, and a failure is final for its key. */
export const keepAll: KeepStatus = () => true;
