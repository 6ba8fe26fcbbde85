import { testBinding } from "@onceward/testkit";
import { headerOf } from "./serve.ts";
import { serveFetch } from "./serve-fetch.ts";

// A file of its own: Hono's Node server replaces the global Request and Response.
testBinding({ name: "@onceward/hono as a fetch handler", serve: serveFetch, header: headerOf });
