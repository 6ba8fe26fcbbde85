import { testBinding } from "../src/index.ts";
import { documentedSuite } from "./documented-binding.ts";

testBinding(documentedSuite());
