import { library } from "../../tsup.base.ts";

// Vitest refuses to be required, so a CommonJS build could never load.
export default library({ format: ["esm"] });
