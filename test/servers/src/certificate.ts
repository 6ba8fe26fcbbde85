import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** A self-signed certificate for loopback, as PEM text; it is its own authority. */
export interface Certificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/**
 * Writes `server.crt` and `server.key` into a folder.
 *
 * @param existing - Writes this one again instead of a new one.
 */
export async function writeCertificate(dir: string, existing?: Certificate): Promise<Certificate> {
  const [certFile, keyFile] = [join(dir, "server.crt"), join(dir, "server.key")];
  if (existing !== undefined) {
    await writeFile(certFile, existing.cert);
    await writeFile(keyFile, existing.key);
    return existing;
  }
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  try {
    await promisify(execFile)("openssl", ["req", "-x509", ...newKey, "-out", certFile, "-days", "2", ...subject]);
  } catch (cause) {
    throw new Error("a test server with TLS needs the openssl program for its certificate: install openssl", { cause });
  }
  const cert = await readFile(certFile, "utf8");
  return { ca: cert, cert, key: await readFile(keyFile, "utf8") };
}
