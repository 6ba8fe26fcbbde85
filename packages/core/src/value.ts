import { fromBase64, toBase64 } from "./hash.ts";

/**
 * Values as text and back, unchanged or not at all. JSON carries most; what it would silently change (Date, Map, Set,
 * BigInt, undefined, NaN, -0, bytes) is tagged as `{"$": [name, content]}`; what can't come back as it was (functions,
 * symbols, cycles, class instances) is refused with the path to it. An object met twice comes back as two equal ones.
 */
export class UnsupportedValueError extends TypeError {
  override readonly name = "UnsupportedValueError";
  constructor(what: string, path: string) {
    super(`${what} at ${path || "the top"} can't be stored and given back unchanged; return plain data instead`);
  }
}

/** Deeper than any honest payload, and far from where recursion ends. */
const maxDepth = 1_000;

const typedArrays = {
  Uint8Array,
  Uint8ClampedArray,
  Uint16Array,
  Uint32Array,
  Int8Array,
  Int16Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const;

/** How plain objects are written: in their own order, or sorted so that equal payloads give equal text. */
export type KeyOrder = "own" | "sorted";

/** The value as text. Throws {@link UnsupportedValueError}. */
export function serialize(value: unknown, order: KeyOrder = "own"): string {
  // Where the walk is: the objects on the way down, and the property names between them.
  const parents: object[] = [];
  const names: (string | number)[] = [];
  const refuse = (what: string) => new UnsupportedValueError(what, names.join("."));

  function toWire(value: unknown): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        if (Object.is(value, -0)) return tag("number", "-0");
        return Number.isFinite(value) ? value : tag("number", String(value));
      case "undefined":
        return tag("undefined");
      case "bigint":
        return tag("bigint", String(value));
      case "object": {
        if (value === null) return null;
        if (parents.includes(value)) throw refuse("A cycle");
        if (parents.length >= maxDepth) throw refuse(`A nesting of more than ${maxDepth} levels`);
        parents.push(value);
        const wire = objectToWire(value);
        parents.pop();
        return wire;
      }
      default:
        throw refuse(`A ${typeof value}`);
    }
  }

  function memberToWire(member: unknown, name: string | number): unknown {
    names.push(name);
    const wire = toWire(member);
    names.pop();
    return wire;
  }

  function objectToWire(value: object): unknown {
    const prototype = Object.getPrototypeOf(value) as unknown;
    if (Array.isArray(value) && prototype === Array.prototype) {
      // Holes and named properties of an array would be lost.
      if (Object.keys(value).length !== value.length) throw refuse("An array with holes or properties");
      const members = value.map(memberToWire);
      return members.every((member, index) => member === value[index]) ? value : members;
    }
    if (prototype === Object.prototype || prototype === null) {
      const object = plainToWire(value as Record<string, unknown>);
      if (prototype === null) return tag("null-prototype", object);
      return Object.hasOwn(object, "$") ? tag("object", object) : object;
    }
    if (prototype === Date.prototype) return bare(value, "Date", String((value as Date).getTime()));
    if (prototype === Map.prototype) return bare(value, "Map", [...(value as Map<unknown, unknown>)].map(memberToWire));
    if (prototype === Set.prototype) return bare(value, "Set", [...(value as Set<unknown>)].map(memberToWire));
    if (prototype === ArrayBuffer.prototype)
      return bare(value, "ArrayBuffer", toBase64(new Uint8Array(value as ArrayBuffer)));
    const name = (prototype as { constructor?: { name?: string } }).constructor?.name || "an unnamed class";
    if (ArrayBuffer.isView(value) && (name === "Buffer" || Object.hasOwn(typedArrays, name))) {
      return tag(name, toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)));
    }
    throw refuse(`An instance of ${name}`);
  }

  /** The object itself where it can be written as it is, which saves most payloads and values a copy. */
  function plainToWire(value: Record<string, unknown>): Record<string, unknown> {
    const keys = Object.keys(value);
    if (Reflect.ownKeys(value).length !== keys.length) throw refuse("A hidden property, or a symbol as its name,");
    const sorted = order === "sorted" ? [...keys].sort() : keys;
    const members = sorted.map((key) => memberToWire(value[key], key));
    if (sorted.every((key, index) => key === keys[index] && members[index] === value[key])) return value;
    // Not by assignment, which would swallow `__proto__`.
    return Object.fromEntries(sorted.map((key, index) => [key, members[index]]));
  }

  /** Properties that somebody put on a built-in would be lost. */
  function bare(value: object, name: string, content: unknown): unknown {
    if (Reflect.ownKeys(value).length > 0) throw refuse(`A ${name} with properties of its own`);
    return tag(name, content);
  }

  return JSON.stringify(toWire(value));
}

/** The value that {@link serialize} wrote. */
export function deserialize(text: string): unknown {
  const wire: unknown = JSON.parse(text);
  // Nothing is tagged in most of what is stored: no walk, no copy.
  return text.includes('"$"') ? fromWire(wire) : wire;
}

const tag = (name: string, content: unknown = null) => ({ $: [name, content] });

function fromWire(wire: unknown): unknown {
  if (typeof wire !== "object" || wire === null) return wire;
  if (Array.isArray(wire)) return wire.map(fromWire);
  const tagged = (wire as { $?: [string, unknown] }).$;
  if (tagged === undefined) return plainFromWire(wire as Record<string, unknown>);
  const [name, content] = tagged;
  const text = content as string;
  switch (name) {
    case "number":
      return Number(text);
    case "undefined":
      return undefined;
    case "bigint":
      return BigInt(text);
    case "object":
      return plainFromWire(content as Record<string, unknown>);
    case "null-prototype":
      return Object.setPrototypeOf(plainFromWire(content as Record<string, unknown>), null);
    case "Date":
      return new Date(Number(text));
    case "Map":
      return new Map((content as unknown[]).map(fromWire) as [unknown, unknown][]);
    case "Set":
      return new Set((content as unknown[]).map(fromWire));
    case "ArrayBuffer":
      return fromBase64(text).buffer;
    case "Buffer":
      return (
        (globalThis as { Buffer?: { from(text: string, encoding: string): unknown } }).Buffer?.from(text, "base64") ??
        fromBase64(text)
      );
    default:
      return new typedArrays[name as keyof typeof typedArrays](fromBase64(text).buffer as ArrayBuffer);
  }
}

function plainFromWire(wire: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(wire).map(([key, member]) => [key, fromWire(member)]));
}
