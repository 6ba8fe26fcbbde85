import type { Context } from "./context.ts";
import { KeyInvalidError, OutcomeNotEncodableError, type RecordedFailure, RecordedFailureError } from "./errors.ts";
import type { Execution, Settlement } from "./execution.ts";
import type { RunRequest, RunResult } from "./onceward.ts";
import { markerOutcome, notKeptError, type Outcome } from "./outcome.ts";
import { decodeText, encodeText } from "./runtime.ts";
import { deserialize, serialize } from "./value.ts";

/** The caller is the runner: does the work, and sees to its outcome. */
export async function execute<Value>(
  execution: Execution,
  request: RunRequest<Value>,
  work: (context: Context) => Value | Promise<Value>,
): Promise<RunResult<Value>> {
  let reconciled: { readonly value: Value } | undefined;
  if (execution.takenOver && request.reconcile) {
    try {
      reconciled = await request.reconcile(execution.context);
    } catch (error) {
      // Still nobody knows whether the work was done, so it must not look as if it had merely failed.
      await execution.abandon();
      throw error;
    }
  }

  let value: Value;
  try {
    value = reconciled ? reconciled.value : await work(execution.context);
  } catch (error) {
    return failed<Value>(execution, error);
  }

  if (request.keep) {
    let worthKeeping: boolean;
    try {
      worthKeeping = request.keep(value);
    } catch (error) {
      return failed<Value>(execution, error);
    }
    if (!worthKeeping) return answer(await execution.release("not-kept"), () => value);
  }

  let serialized: string;
  try {
    serialized = serialize(value);
  } catch (cause) {
    return answer(await execution.complete(markerOutcome("not-encodable")), () => {
      const why = (cause as Error).message;
      throw new OutcomeNotEncodableError(`The work was done, but its value can't be replayed: ${why}`, { cause });
    });
  }
  const settlement = await execution.complete({ kind: "value", payload: encodeText(serialized) });
  return answer(settlement, () => deserialize(serialized) as Value);
}

/** The outcome of the runner that took over, when it is there already; else our own. */
function answer<Value>(settlement: Settlement, own: () => Value): RunResult<Value> {
  return settlement.kind === "superseded" && settlement.winner
    ? { value: decode<Value>(settlement.winner.outcome), replayed: true }
    : { value: own(), replayed: false };
}

/** The work threw: keep that as its outcome, or let the next attempt run. */
async function failed<Value>(execution: Execution, error: unknown): Promise<RunResult<Value>> {
  const { keepErrors } = execution.policy;
  let failure: string | undefined;
  try {
    if (typeof keepErrors === "function" ? keepErrors(error) : keepErrors)
      failure = JSON.stringify(recordFailure(error));
  } catch (thrown) {
    // `keepErrors` threw, or the error can't be described; its claim must still end.
    await execution.release("failed");
    throw thrown;
  }
  const settlement =
    failure === undefined
      ? await execution.release("failed")
      : await execution.complete({ kind: "error", payload: encodeText(failure) });
  return answer(settlement, () => {
    throw error;
  });
}

function recordFailure(error: unknown): RecordedFailure {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
  };
}

/** The value of an outcome that was kept; throws what was kept as a failure. */
export function decode<Value>({ kind, payload }: Outcome): Value {
  const content = decodeText(payload);
  switch (kind) {
    case "value":
      return deserialize(content) as Value;
    case "error":
      throw new RecordedFailureError(JSON.parse(content) as RecordedFailure);
    case "marker":
      throw notKeptError({ kind, payload });
    case "http":
      throw new KeyInvalidError(
        "This key belongs to an HTTP response, which run can't replay. Use another operation name",
      );
  }
}
