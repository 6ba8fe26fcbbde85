/**
 * Plans the release that the changesets ask for, without making it: fails on one that doesn't parse, has no summary,
 * or names a package that isn't published. `changeset status` would need the base branch, which a shallow clone lacks.
 */
import getReleasePlan from "@changesets/get-release-plan";
import { publishedPackages, report, root } from "./workspace.ts";

const published = new Set(publishedPackages().map(({ manifest }) => manifest.name));
const { changesets, releases } = await getReleasePlan(root);
const problems = changesets.flatMap(({ id, summary, releases }) => [
  ...(summary.trim() === "" && releases.length > 0 ? [`.changeset/${id}.md has no summary`] : []),
  ...releases
    .filter(({ name }) => !published.has(name))
    .map(({ name }) => `.changeset/${id}.md names ${name}, which is not published`),
]);
for (const { name, oldVersion, newVersion } of releases) {
  if (published.has(name)) console.log(`${name} ${oldVersion} -> ${newVersion}`);
}
report(problems, `${changesets.length} changesets are sound`);
