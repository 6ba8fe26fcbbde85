// Embeds lua/*.lua into src/generated/scripts.ts, so that nothing reads files at run time. CI diffs the result.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const folder = new URL("../lua/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, folder), "utf8");
// Servers keep the text for good and clients send it now and then: without comments and indentation.
const compact = (lua: string) => lua.replace(/^\s*--(?!#).*\n/gm, "").replace(/^\s+/gm, "");

const entries = readdirSync(folder)
  .filter((file) => file.endsWith(".lua"))
  .sort()
  .map((file) => {
    const lua = compact(read(file).replace(/^--#include (\w+)$/gm, (_, name: string) => read(`lib/${name}.lua`)));
    const name = file.replace(".lua", "").replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const sha1 = createHash("sha1").update(lua).digest("hex");
    return `  ${name}: {\n    sha1: "${sha1}",\n    lua: ${JSON.stringify(lua)},\n  },\n`;
  });

writeFileSync(
  new URL("../src/generated/scripts.ts", import.meta.url),
  `// Generated from lua/*.lua by \`pnpm generate\`. Don't edit.\nexport const scripts = {\n${entries.join("")}} as const;\n`,
);
