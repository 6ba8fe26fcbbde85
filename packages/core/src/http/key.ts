import { KeyInvalidError } from "../errors.ts";

/** What keys look like: `any` visible text, a named form, a pattern for the whole key, or your own test. */
export type KeyFormat = "any" | "urlsafe" | "uuid" | "uuidv4" | RegExp | ((key: string) => boolean);

/** A key that a client sent. */
export interface ReceivedKey {
  readonly key: string;
  /** The header's value as it came, for the echo. */
  readonly received: string;
}

/** The named forms. */
export const formats = {
  urlsafe: /^[A-Za-z0-9_.~-]+$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  uuidv4: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i,
} as const;

const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"(.*)$/s;
const parameters =
  /^(?:; *[a-z*][a-z0-9_.*-]*(?:=(?:"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[\x21\x23-\x2b\x2d-\x3a\x3c-\x7e]+))?)* *$/;
const bare = /^[\x21\x23-\x2b\x2d-\x7e]+$/;

/**
 * The key in the values of all header lines that may carry one, or undefined when there is none. A leading quote means a
 * structured-field String (RFC 9651); anything else is taken as it is, so that `"abc"` and `abc` are one key.
 */
export function readKey(values: readonly string[], format: KeyFormat, maxLength: number): ReceivedKey | undefined {
  let found: ReceivedKey | undefined;
  for (const value of values) {
    const key = parseKey(value);
    if (found && found.key !== key) throw new KeyInvalidError("The request carries two different keys; send one");
    found ??= { key, received: value };
  }
  if (found) checkKey(found.key, format, maxLength);
  return found;
}

function parseKey(value: string): string {
  if (!value.startsWith('"')) {
    if (value !== "" && !bare.test(value))
      throw new KeyInvalidError(
        "A key without quotes must be visible ASCII without quotes, commas or spaces; send one",
      );
    return value;
  }
  const [, content, rest] = quoted.exec(value) ?? [];
  if (content === undefined || rest === undefined)
    throw new KeyInvalidError("The key is not a well-formed structured-field String (RFC 9651)");
  if (!parameters.test(rest)) throw new KeyInvalidError("Something follows the key's closing quote; send one key");
  return content.replace(/\\(.)/g, "$1");
}

function checkKey(key: string, format: KeyFormat, maxLength: number): void {
  if (key.length < 1 || key.length > maxLength)
    throw new KeyInvalidError(`A key has 1 to ${maxLength} characters; this one has ${key.length}`);
  if (!fits(key, format)) {
    const name = typeof format === "string" ? ` "${format}"` : "";
    throw new KeyInvalidError(`The key is not of the form${name} that this server asks for`);
  }
}

function fits(key: string, format: KeyFormat): boolean {
  if (format === "any") return true;
  if (typeof format === "function") return format(key);
  if (typeof format === "string") return formats[format].test(key);
  // Not `test` of the pattern itself: one with the g flag would remember where it stopped.
  return key.match(new RegExp(format.source, format.flags.replace(/[gy]/g, "")))?.[0] === key;
}
