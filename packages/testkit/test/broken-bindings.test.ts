import { expect, it } from "vitest";
import { bindingCases } from "../src/index.ts";
import { documentedSuite } from "./documented-binding.ts";

/** One mistake in the binding of docs/writing-a-binding.md, and the cases that must notice it. */
interface Mistake {
  readonly name: string;
  readonly from: string | RegExp;
  readonly to: string;
  readonly caught: readonly string[];
}

const mistakes: readonly Mistake[] = [
  {
    name: "gives 204 and 304 a length",
    from: "if ([204, 205, 304].includes(status)) {",
    to: "if (status === 0) {",
    caught: ["H7.1"],
  },
  {
    name: "forgets responses without a body",
    from: "recording?.write(bytes);",
    to: "if (!body) return void (await recording?.fail(), response.writeHead(status).end());\nrecording?.write(bytes);",
    caught: ["H7.1", "H7.4", "H7.5"],
  },
  {
    name: "runs the handler where core refuses",
    from: "send(response, decision.response);\n        return;",
    to: "if (decision.replayed) send(response, decision.response); else await handler({ request, idempotency: decision.context, body }).then((answer) => reply(response, answer, gone));\nreturn;",
    caught: ["H2.4", "H2.6", "H3.1", "H3.2", "H9.1", "H9.3", "H10.2", "H14.1"],
  },
  {
    name: "takes bodies for text",
    from: "recording?.write(bytes);",
    to: "recording?.write(Buffer.from(Buffer.from(bytes).toString()));",
    caught: ["H7.14", "H7.15", "H7.16"],
  },
  {
    name: "compares bodies as text",
    from: "bytes: await body() })",
    to: "bytes: Buffer.from(Buffer.from(await body()).toString()) })",
    caught: ["H3.4"],
  },
  {
    name: "uses the path within the mounted router",
    from: "path: () => path",
    to: 'path: () => path.replace("/mounted", "")',
    caught: ["H4.1"],
  },
  {
    name: "ignores the query",
    from: "query: () => query",
    to: 'query: () => ""',
    caught: ["H3.1", "H3.3"],
  },
  {
    name: "keeps one line of a repeated header",
    from: 'values.length === 1 ? (values[0] ?? "") : values',
    to: 'values[0] ?? ""',
    caught: ["H6.1", "H6.2", "H6.4"],
  },
  {
    name: "takes what was there before for the handler's",
    from: "responseHeaders: () => headersOf(response)",
    to: "responseHeaders: () => []",
    caught: ["H6.3"],
  },
  {
    name: "does not wait for the store",
    from: "const winner = await recording?.finish(status, lines);",
    to: "void recording?.finish(status, lines);\nconst winner = undefined as HttpResponse | undefined;",
    caught: ["H11.1", "H14.4"],
  },
  {
    name: "does not wait for the store at the end of a stream",
    from: "await recording?.finish(status, lines);\n  response.end();",
    to: "void recording?.finish(status, lines);\n  response.end();",
    caught: ["H11.2"],
  },
  {
    name: "holds streams back",
    from: "response.writeHead(status);\n  try {",
    to: "const all: Uint8Array[] = [];\n  try {\n    for await (const chunk of body) all.push(chunk);\n    body = (async function* () { yield* all })();",
    caught: ["H11.4"],
  },
  {
    name: "stops when the client has gone",
    from: "recording?.write(chunk);\n",
    to: "if (gone.aborted) return;\nrecording?.write(chunk);\n",
    caught: ["H12.2"],
  },
  {
    name: "takes a response that broke off for a whole one",
    from: "await recording?.abandon();",
    to: "await recording?.finish(status, lines);",
    caught: ["H12.6", "H12.7"],
  },
  {
    name: "never tells that the client has gone",
    from: "signal: gone,",
    to: "",
    caught: ["H12.3"],
  },
  {
    name: "reads bodies of any size",
    from: "size += (chunk as Buffer).byteLength;",
    to: "",
    caught: ["H15.4"],
  },
  {
    name: "replays cookies",
    from: "const lines = headersOf(response);",
    to: 'const lines = headersOf(response).map(([name, value]) => [name === "set-cookie" ? "Set-Cookie2" : name, value] as const);',
    caught: ["H6.2"],
  },
  {
    name: "hides errors from `keep`",
    from: ".catch(failed);",
    to: ".catch(async (error) => (await decision?.recording.fail(), failed(error)));",
    caught: ["H5.4"],
  },
  {
    name: "drops the route's options",
    from: "idempotency(once, options, routeOptions)",
    to: "idempotency(once, options)",
    caught: ["H1.5", "H5.3", "H8.4"],
  },
  {
    name: "gives handlers no context of their own",
    from: "decision?.context ?? unprotectedContext()",
    to: "unprotectedContext()",
    caught: ["H1.1", "H1.6"],
  },
];

/** What none of the mistakes touches, unless it is named as caught. */
const unrelated = ["H1.2", "H2.1", "H2.4", "H2.6", "H3.2", "H4.2", "H8.1", "H9.1", "H13.1"];
const numberOf = (name: string) => name.split(" ", 1)[0] as string;

it.for(mistakes)("the kit catches a binding that $name", { timeout: 60_000 }, async ({ from, to, caught }) => {
  const cases = bindingCases({ ...documentedSuite(from, to), patienceMs: 300 });
  const failures: string[] = [];
  for (const { name, run } of cases)
    if ([...caught, ...unrelated].includes(numberOf(name))) await run().catch(() => void failures.push(numberOf(name)));
  expect(failures.sort()).toEqual([...caught].sort());
});

it("each case has a number of its own, and the kit names no case twice", () => {
  const names = bindingCases(documentedSuite()).map(({ name }) => numberOf(name));
  expect(new Set(names).size).toBe(names.length);
  for (const { caught } of mistakes) for (const number of caught) expect(names).toContain(number);
});
