import { testBinding } from "@onceward/testkit";
import { headerOf, serveHono } from "./serve.ts";

testBinding({ name: "@onceward/hono on the Node server", serve: serveHono, header: headerOf });
