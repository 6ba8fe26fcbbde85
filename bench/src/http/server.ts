/** A process with one HTTP server in it. */
import { payloadOf } from "../subject.ts";
import { apps, type Framework, type Guarded, listen } from "./apps.ts";

type Question = { readonly id: number } & (
  | { readonly ask: "open"; readonly framework: Framework; readonly guarded: Guarded }
  | { readonly ask: "state" }
);

/** How much the server has done so far. */
export interface ServerState {
  readonly cpuMicros: number;
  readonly executions: number;
}

let executions = 0;
const result = { id: "order-4711", status: "created", note: payloadOf(200).note };
const handle = () => {
  executions++;
  return result;
};

async function answer(question: Question): Promise<unknown> {
  if (question.ask === "open") return listen(await apps[question.framework](handle, question.guarded));
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system, executions } satisfies ServerState;
}

process.on("message", (question: Question) => {
  answer(question).then(
    (value) => process.send?.({ id: question.id, value }),
    (error: Error) => process.send?.({ id: question.id, error: error.stack }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ id: 0, value: "ready" });
