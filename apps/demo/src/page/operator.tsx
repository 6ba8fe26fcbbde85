import { useSignal } from "@preact/signals";
import type { OperatorRecord } from "../shared/messages.ts";
import { duration } from "./role.ts";
import { Scrollable } from "./scrollable.tsx";
import { act, framework } from "./state.ts";

/** Looks up keys, lists what runs, releases and removes. */
export function Operator() {
  const key = useSignal("");
  const title = useSignal("");
  const records = useSignal<readonly OperatorRecord[] | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  // What to ask again after a change.
  const question = useSignal<{ action: string; body: object }>({ action: "list", body: {} });

  async function attempt(action: () => Promise<void>): Promise<void> {
    problem.value = undefined;
    await action().catch((error: Error) => {
      problem.value = error.message;
    });
  }
  const ask = (heading: string, action: string, body: object) =>
    attempt(async () => {
      question.value = { action, body };
      records.value = await act<OperatorRecord[]>(action, body);
      title.value = heading;
    });
  const change = (action: "release" | "remove", { id, token }: OperatorRecord) =>
    attempt(async () => {
      await act(action, { id, token });
      records.value = await act<OperatorRecord[]>(question.value.action, question.value.body);
    });
  const slowOne = () =>
    attempt(async () => {
      // Nobody waits for its answer here.
      fetch(`/service/${framework.value}/with/api/intakes/background-check/submit`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": `idem_${crypto.randomUUID()}` },
        body: JSON.stringify({ fields: { fullName: "Ada Lovelace" } }),
      }).catch(() => {});
    });

  return (
    <section id="operator" aria-labelledby="operator-title">
      <h2 id="operator-title">Operator’s panel</h2>
      <p>
        The store holds hashes, so a key is looked up by its full text among the requests of this playground. Releasing
        lets the next attempt run now; removing forgets the outcome.
      </p>
      <div class="panel operator">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            ask("Looked up", "find", { key: key.value });
          }}
        >
          <label>
            Key
            <span class="with-button">
              <input
                required
                autocomplete="off"
                value={key.value}
                onInput={({ currentTarget }) => (key.value = currentTarget.value)}
              />
              <button type="submit">Look up</button>
            </span>
          </label>
        </form>
        <div class="buttons">
          <button type="button" onClick={() => ask("Running", "list", { state: "running" })}>
            List running
          </button>
          <button type="button" onClick={() => ask("All", "list", {})}>
            List all
          </button>
          <button type="button" onClick={slowOne}>
            Start something slow
          </button>
        </div>
        {problem.value && (
          <p class="notice" role="alert">
            {problem.value}
          </p>
        )}
        <div role="status">
          {records.value && <Records title={title.value} records={records.value} change={change} />}
        </div>
      </div>
    </section>
  );
}

interface RecordsProps {
  readonly title: string;
  readonly records: readonly OperatorRecord[];
  readonly change: (action: "release" | "remove", record: OperatorRecord) => void;
}

function Records({ title, records, change }: RecordsProps) {
  if (records.length === 0) return <p class="empty">{title}: nothing.</p>;
  return (
    <Scrollable label="Records">
      <table>
        <caption>
          {title}: {records.length}
        </caption>
        <thead>
          <tr>
            <th scope="col">Operation and key</th>
            <th scope="col">State</th>
            <th scope="col">Attempt</th>
            <th scope="col">Age</th>
            <th scope="col">Steps</th>
            <th scope="col">Do</th>
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={record.id} data-record={record.id}>
              <td>{record.label ?? record.id}</td>
              <td>
                <span class={`state ${record.state}`}>{record.state}</span>
                {record.state === "running" && <small>lease {duration(record.leaseRemainingMs)}</small>}
              </td>
              <td>{record.attempt}</td>
              <td>{duration(Math.max(0, Date.now() - record.claimedAt))}</td>
              <td>{record.steps.join(", ") || "–"}</td>
              <td class="buttons">
                {record.state !== "completed" && (
                  <button type="button" class="small" onClick={() => change("release", record)}>
                    Release
                  </button>
                )}
                <button type="button" class="small" onClick={() => change("remove", record)}>
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}
