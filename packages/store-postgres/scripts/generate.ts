/**
 * Embeds sql/ into src/generated/, so that the package reads no files at run time. CI runs it and compares.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const sqlFiles = (folder: string) =>
  readdirSync(join(root, "sql", folder))
    .filter((file) => file.endsWith(".sql"))
    .sort();
const read = (folder: string, file: string) => readFileSync(join(root, "sql", folder, file), "utf8").trim();

function write(name: string, constant: string, value: unknown): void {
  const text = [
    "// Made from sql/ by `pnpm generate`; edit the .sql files.",
    "",
    `export const ${constant} = ${JSON.stringify(value, null, 2)} as const;`,
    "",
  ];
  writeFileSync(join(root, "src/generated", name), text.join("\n"));
}

const tracks = { records: "", archive: "archive", rls: "rls", "rls-archive": "rls-archive" };
const migrations = Object.entries(tracks).flatMap(([track, folder]) =>
  sqlFiles(folder).map((file, index) => {
    const version = Number.parseInt(file, 10);
    if (version !== index + 1) throw new Error(`sql/${folder}/${file}: the next number is ${index + 1}`);
    return { track, version, name: file.replace(/\.sql$/, ""), sql: read(folder, file) };
  }),
);
write("migrations.ts", "migrations", migrations);

// Comments and layout are for readers of the .sql files; the server copies the text of a statement with every call.
const withoutComments = (sql: string) => sql.replace(/^\s*--.*\n/gm, "").replace(/\s+/g, " ");
const statements = sqlFiles("statements").map((file) => [
  file.replace(/\.sql$/, "").replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
  withoutComments(read("statements", file)),
]);
write("statements.ts", "statements", Object.fromEntries(statements));
