/** Header lines in their order; a repeated header is several lines. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Whether a header of the first response is kept for replays, given what would happen without the function. */
export type KeepHeader = (name: string, keptByDefault: boolean) => boolean;

/** About the connection, the moment or the caller of the first exchange: wrong or harmful in another one. */
const neverKept = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "date",
  "set-cookie",
  "server-timing",
  // Counted from the bytes when they are replayed.
  "content-length",
]);
const neverKeptPrefixes = ["access-control-", "ratelimit-", "x-ratelimit-"];

function keptByDefault(name: string): boolean {
  return name !== "ratelimit" && !neverKept.has(name) && !neverKeptPrefixes.some((prefix) => name.startsWith(prefix));
}

/** The lines of each header together, under the name as first written. */
export function groupHeaders(headers: HeaderList): Map<string, { name: string; values: string[] }> {
  const groups = new Map<string, { name: string; values: string[] }>();
  for (const [name, value] of headers) {
    const group = groups.get(name.toLowerCase());
    if (group) group.values.push(value);
    else groups.set(name.toLowerCase(), { name, values: [value] });
  }
  return groups;
}

/**
 * What of a response's headers is kept: those the handler set. What stood there `before` it belongs to this exchange,
 * unless the handler changed it.
 * @param dropped - told of each header that the handler set and that replays won't have.
 */
export function headersToKeep(
  before: HeaderList,
  after: HeaderList,
  keep: KeepHeader | undefined,
  dropped: (name: string) => void,
): HeaderList {
  const former = groupHeaders(before);
  const kept: [string, string][] = [];
  for (const [lowerName, { name, values }] of groupHeaders(after)) {
    const old = former.get(lowerName)?.values;
    if (old && old.length === values.length && old.every((value, index) => value === values[index])) continue;
    const byDefault = keptByDefault(lowerName);
    if (keep ? keep(lowerName, byDefault) : byDefault)
      kept.push(...values.map((value): [string, string] => [name, value]));
    else if (lowerName === "set-cookie") dropped(lowerName);
  }
  return kept;
}

/** The headers with those of `changes` put in the place of lines of the same name. */
export function replaceHeaders(headers: HeaderList, changes: HeaderList): HeaderList {
  const names = groupHeaders(changes);
  return [...headers.filter(([name]) => !names.has(name.toLowerCase())), ...changes];
}
