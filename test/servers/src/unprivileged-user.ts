import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ServerUser } from "./supervisor-client.ts";

/** The user for servers that refuse to run as root: `nobody` when we are root, else `undefined`: whoever we are. */
export async function unprivilegedUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const ask = async (flag: string) => Number((await promisify(execFile)("id", [flag, "nobody"])).stdout);
  return { uid: await ask("-u"), gid: await ask("-g") };
}
