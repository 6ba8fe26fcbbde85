/** `pnpm demo`: the playground, until Ctrl-C. */
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { startPlayground } from "./server/playground.ts";

const DEFAULT_PORT = 4400;

const { values } = parseArgs({
  // `pnpm demo -- --port 5000` hands the dashes on.
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: { port: { type: "string" }, "no-open": { type: "boolean" } },
});
const port = Number(values.port ?? DEFAULT_PORT);

try {
  const playground = await startPlayground(port);
  let asked: number | undefined;
  const end = async () => {
    // Package managers pass Ctrl-C on, so that it may come twice at once; later, somebody is in a hurry.
    if (asked !== undefined && performance.now() - asked > 1_000) process.exit(130);
    if (asked !== undefined) return;
    asked = performance.now();
    await playground.close();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);

  if (port !== 0 && !playground.url.endsWith(`:${port}`)) console.log(`Port ${port} is busy, so it is another one:`);
  console.log(`The playground is at ${playground.url} (Ctrl-C ends it)`);
  for (const [framework, address] of Object.entries(playground.addresses)) {
    console.log(`  ${framework.padEnd(8)} ${address}`);
  }
  if (!values["no-open"] && process.stdout.isTTY && !process.env["CI"]) open(playground.url);
} catch (error) {
  console.error(`The playground can't start: ${(error as Error).message}`);
  process.exit(1);
}

/** Shows the page in the visitor's browser, where there is one. */
function open(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", url]
        : ["xdg-open", url];
  const child = spawn(command as string, args, { stdio: "ignore", detached: true });
  // The address was printed: nothing is lost.
  child.on("error", () => {});
  child.unref();
}
