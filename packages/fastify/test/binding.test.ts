import { testBinding } from "@onceward/testkit";
import { serveFastify } from "./serve.ts";

testBinding({ name: "@onceward/fastify", serve: serveFastify });
