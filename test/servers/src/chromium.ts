import { findBinary } from "./binary.ts";

/** The path of a Chromium for browser tests, which is installed if need be. */
export function chromiumBinary(): Promise<string> {
  return findBinary({
    variable: "CHROMIUM",
    names: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"],
    aptPackage: "chromium",
  });
}
