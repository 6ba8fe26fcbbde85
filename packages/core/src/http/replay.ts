import { KeyInvalidError } from "../errors.ts";
import type { Completion } from "../flight.ts";
import type { MaybePromise } from "../runtime.ts";
import { groupHeaders, replaceHeaders } from "./headers.ts";
import type { HttpOptions, ReplayInfo, ResolvedHttpOptions } from "./options.ts";
import { decodeResponse, type HttpResponse } from "./outcome.ts";

/**
 * The kept response as it is sent again, with the headers that mark it.
 * @param received - the key as the client sent it, for the echo; undefined for a derived key.
 */
export function replayOf(
  { replay, transformReplay }: Pick<ResolvedHttpOptions<never>, "replay" | "transformReplay">,
  { outcome, completedAt, expiresAt }: Completion,
  key: string,
  received: string | undefined,
): MaybePromise<HttpResponse> {
  if (outcome.kind !== "http")
    throw new KeyInvalidError("This key belongs to work outside HTTP, whose outcome is not a response");
  const kept = decodeResponse(outcome.payload);
  const { requestedAt } = kept;
  const marks: [string, string][] = [];
  if (replay.replayedHeader) marks.push([replay.replayedHeader, "true"]);
  if (replay.keyHeader && received !== undefined) marks.push([replay.keyHeader, received]);
  if (replay.originalTimeHeader) marks.push([replay.originalTimeHeader, new Date(requestedAt).toISOString()]);
  if (replay.expiresHeader) marks.push([replay.expiresHeader, new Date(expiresAt).toISOString()]);
  const headers = replaceHeaders(kept.headers, marks);
  const status = kept.status < 300 ? (replay.status ?? kept.status) : kept.status;
  const response = { status, headers, body: kept.body };
  if (!transformReplay) return response;
  return transformReplay(response, {
    key,
    requestedAt: new Date(requestedAt),
    completedAt: new Date(completedAt),
    expiresAt: new Date(expiresAt),
  });
}

/** Say something about the body that is no longer true when it is changed. */
const bodyHeaders = new Set(["etag", "content-digest", "repr-digest", "digest", "content-md5"]);

/** A `transformReplay` that sets members of a JSON object; any other body stays as it is. */
export function addToReplay(
  members: (info: ReplayInfo) => Readonly<Record<string, unknown>>,
): NonNullable<HttpOptions<unknown>["transformReplay"]> {
  return (response, info) => {
    if (groupHeaders(response.headers).has("content-encoding")) return response;
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(response.body));
    } catch {
      return response;
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) return response;
    return {
      status: response.status,
      headers: response.headers.filter(([name]) => !bodyHeaders.has(name.toLowerCase())),
      body: new TextEncoder().encode(JSON.stringify({ ...value, ...members(info) })),
    };
  };
}
