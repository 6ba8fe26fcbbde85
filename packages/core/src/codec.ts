import { CodecError, InvalidOptionError } from "./errors.ts";
import { concatBytes } from "./hash.ts";
import { checkOptions, text } from "./options.ts";
import { type MaybePromise, nodeCrypto } from "./runtime.ts";

/** What a codec must bind its result to, so that bytes moved to another record, or another part of it, don't decode. */
export interface CodecContext {
  /** Of the record. */
  readonly id: string;
  /** What of the record: its outcome by kind, or a step by name. */
  readonly part: string;
}

/** Transforms outcomes and steps on their way to and from the store. */
export interface Codec {
  /** As the store gets it. */
  encode(plain: Uint8Array, context: CodecContext): MaybePromise<Uint8Array>;
  /** Throws when the bytes were not made by `encode` for this context. */
  decode(coded: Uint8Array, context: CodecContext): MaybePromise<Uint8Array>;
  /** With it, ids and fingerprints are HMACs: plain hashes of small payloads can be guessed. It must outlive key rotation. */
  readonly hmacSecret: Uint8Array;
}

/** Options of {@link aesGcmCodec}. */
export interface AesGcmCodecOptions {
  /** 16, 24 or 32 random bytes each, by a name of up to 255 bytes that is stored beside what it encrypted. */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /** Name of the key that encrypts; the others only decrypt. To rotate: add a key, name it here, drop the old one after the TTL. */
  readonly current: string;
  /** At least 32 random bytes for ids and fingerprints. Changing it makes every stored record unknown. */
  readonly hmacSecret: Uint8Array;
}

const nonceLength = 12;
const tagLength = 16;
const utf8 = new TextEncoder();

/** Encrypts with AES-GCM. A record's bytes are: length of the key's name, the name, nonce, ciphertext with tag. */
export function aesGcmCodec(options: AesGcmCodecOptions): Codec {
  checkOptions("aesGcmCodec", options, {
    keys: (value) => (typeof value === "object" && value !== null ? undefined : "an object of keys by name"),
    current: text,
    hmacSecret: () => undefined,
  });
  const keys = new Map(Object.entries(options.keys ?? {}));
  for (const [name, key] of keys) {
    if (!(key instanceof Uint8Array) || ![16, 24, 32].includes(key.byteLength)) {
      throw new InvalidOptionError(
        `aesGcmCodec: keys.${name} must be 16, 24 or 32 random bytes, for example crypto.randomBytes(32)`,
      );
    }
    const nameLength = utf8.encode(name).byteLength;
    if (nameLength < 1 || nameLength > 255)
      throw new InvalidOptionError("aesGcmCodec: names of keys must have 1 to 255 bytes");
  }
  const currentKey = keys.get(options.current);
  if (!currentKey)
    throw new InvalidOptionError(`aesGcmCodec: current is "${options.current}", which is not among keys`);
  if (!(options.hmacSecret instanceof Uint8Array) || options.hmacSecret.byteLength < 32) {
    throw new InvalidOptionError(
      "aesGcmCodec: hmacSecret must be at least 32 random bytes, for example crypto.randomBytes(32)",
    );
  }
  const name = utf8.encode(options.current);
  const header = concatBytes([Uint8Array.of(name.byteLength), name]);
  const cipher = nodeCrypto ? nodeCipher(nodeCrypto) : webCipher();

  return {
    hmacSecret: options.hmacSecret,
    async encode(plain, context) {
      const nonce = globalThis.crypto.getRandomValues(new Uint8Array(nonceLength));
      return concatBytes([header, nonce, await cipher.encrypt(currentKey, nonce, additionalData(context), plain)]);
    },
    async decode(coded, context) {
      const nameEnd = 1 + (coded[0] ?? 0);
      const keyName = new TextDecoder().decode(coded.subarray(1, nameEnd));
      const key = keys.get(keyName);
      if (!key)
        throw new CodecError(`The record was encrypted with the key "${keyName}", which aesGcmCodec was not given`);
      try {
        const nonce = coded.subarray(nameEnd, nameEnd + nonceLength);
        return await cipher.decrypt(key, nonce, additionalData(context), coded.subarray(nameEnd + nonceLength));
      } catch (cause) {
        throw new CodecError(
          `The record does not decrypt with the key "${keyName}": it was altered, moved, or the key is another`,
          { cause },
        );
      }
    },
  };
}

const additionalData = ({ id, part }: CodecContext) => utf8.encode(JSON.stringify([id, part]));

interface Cipher {
  encrypt(key: Uint8Array, nonce: Uint8Array, data: Uint8Array, plain: Uint8Array): MaybePromise<Uint8Array>;
  decrypt(key: Uint8Array, nonce: Uint8Array, data: Uint8Array, sealed: Uint8Array): MaybePromise<Uint8Array>;
}

function nodeCipher({ createCipheriv, createDecipheriv }: NonNullable<typeof nodeCrypto>): Cipher {
  const algorithm = (key: Uint8Array) => `aes-${key.byteLength * 8}-gcm` as "aes-256-gcm";
  return {
    encrypt(key, nonce, data, plain) {
      const cipher = createCipheriv(algorithm(key), key, nonce).setAAD(data);
      return concatBytes([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(key, nonce, data, sealed) {
      const decipher = createDecipheriv(algorithm(key), key, nonce, { authTagLength: tagLength }).setAAD(data);
      decipher.setAuthTag(sealed.subarray(-tagLength));
      return concatBytes([decipher.update(sealed.subarray(0, -tagLength)), decipher.final()]);
    },
  };
}

function webCipher(): Cipher {
  const { subtle } = globalThis.crypto;
  const imported = (key: Uint8Array) => subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
  const parameters = (nonce: Uint8Array, data: Uint8Array) => ({
    name: "AES-GCM",
    iv: nonce,
    additionalData: data,
    tagLength: tagLength * 8,
  });
  return {
    async encrypt(key, nonce, data, plain) {
      return new Uint8Array(await subtle.encrypt(parameters(nonce, data), await imported(key), plain));
    },
    async decrypt(key, nonce, data, sealed) {
      return new Uint8Array(await subtle.decrypt(parameters(nonce, data), await imported(key), sealed));
    },
  };
}
