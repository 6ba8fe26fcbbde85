import type { RequestTrace, Run, Side } from "../shared/messages.ts";
import { duration, type Role, roleOf, roles, roleWords } from "./role.ts";
import { now, requests } from "./state.ts";

/** Beyond this many, rows are drawn thin and without words. */
const MANY = 10;

/** The requests of a performance, as bars on a common time axis. */
export function Timeline({ run }: { run: Run }) {
  const all = [...requests.value.values()].filter((request) => request.run === run.id);
  const begins = [...all.map(({ startedAt }) => startedAt), ...run.notes.map(({ at }) => at)];
  const start = begins.length > 0 ? Math.min(...begins) : run.startedAt;
  const ends = all.map(({ endedAt }) => endedAt ?? now.value);
  const end = Math.max(start + 200, ...ends);
  const place = (at: number) => `${(100 * Math.max(0, at - start)) / (end - start)}%`;
  const many = all.length > 2 * MANY;
  const named = new Set(all.map(({ path }) => path)).size > 1;
  return (
    <div class={many ? "timeline many" : "timeline"}>
      {(["with", "without"] as const).map((side) => (
        <Lane key={side} side={side} requests={all.filter((one) => one.side === side)} {...{ place, run, named }} />
      ))}
      <div class="axis" aria-hidden="true">
        <span>0</span>
        <span>{duration((end - start) / 2)}</span>
        <span>{duration(end - start)}</span>
      </div>
      <Legend requests={all} />
    </div>
  );
}

interface LaneProps {
  readonly side: Side;
  readonly requests: readonly RequestTrace[];
  readonly place: (at: number) => string;
  readonly run: Run;
  /** Whether rows say which service they went to. */
  readonly named: boolean;
}

function Lane({ side, requests: all, place, run, named }: LaneProps) {
  const sorted = [...all].sort((one, other) => one.startedAt - other.startedAt);
  const title = side === "with" ? "With Onceward" : "Without";
  return (
    <div class={`lane ${side}`} data-lane={side}>
      <p class="lane-title">
        <strong>{title}</strong> {summary(sorted)}
      </p>
      <div class={side === "with" && run.notes.length > 0 ? "track noted" : "track"}>
        <div class="notes">
          {run.notes.map(({ at, text }) => (
            <span key={text} class="note" style={{ left: place(at) }}>
              {side === "with" && <span class="note-label">{text}</span>}
            </span>
          ))}
        </div>
        <ol class="rows" aria-label={`Requests, ${title.toLowerCase()}`}>
          {sorted.map((request, index) => (
            <Row key={request.id} request={request} number={index + 1} {...{ place, named }} />
          ))}
        </ol>
      </div>
    </div>
  );
}

type RowProps = Pick<LaneProps, "place" | "named"> & { readonly request: RequestTrace; readonly number: number };

function Row({ request, number, place, named }: RowProps) {
  const { startedAt, endedAt, marks, instance, status, path } = request;
  const role = roleOf(request);
  const until = endedAt ?? now.value;
  const waits = marks.find(({ type }) => type === "waiting")?.at;
  const claims = marks.find(({ type }) => type === "claimed")?.at;
  // What took over ran after it had waited.
  const ranAfter = role === "ran" && waits !== undefined && claims !== undefined && claims > waits ? claims : undefined;
  // Work whose client has gone is finished all the same.
  const wentOnUntil = role === "gave-up" ? marks.find(({ type }) => type === "completed")?.at : undefined;
  // "leads" of /api/leads.
  const service = named ? path.split("/")[2] : undefined;
  const parts = [service, `${roleWords[role]}${ranAfter ? " after waiting" : ""}`, status, duration(until - startedAt)];
  const words = parts.filter((part) => part !== undefined).join(" · ");
  return (
    <li class={`row ${role}`} data-role={role}>
      <span class="who">
        <span class="sr-only">Request {number} to </span>
        {instance}
        <span class="sr-only">
          {" "}
          {path}: {words}
        </span>
      </span>
      <span class="bars" aria-hidden="true">
        <Bar kind={ranAfter ? "waited" : role} from={startedAt} until={until} place={place} />
        {ranAfter && <Bar kind="ran" from={ranAfter} until={until} place={place} />}
        {wentOnUntil && <Bar kind="went-on" from={until} until={wentOnUntil} place={place} />}
        {marks
          .filter(({ type }) => type === "lease-renewed")
          .map(({ at }) => (
            <span key={at} class="tick" style={{ left: place(at) }} />
          ))}
      </span>
      <span class="words" aria-hidden="true">
        {words}
      </span>
    </li>
  );
}

interface BarProps extends Pick<LaneProps, "place"> {
  readonly kind: Role | "went-on";
  readonly from: number;
  readonly until: number;
}

function Bar({ kind, from, until, place }: BarProps) {
  return <span class={`bar ${kind}`} style={{ left: place(from), width: `calc(${place(until)} - ${place(from)})` }} />;
}

function summary(all: readonly RequestTrace[]): string {
  const counts = new Map<Role, number>();
  for (const request of all) counts.set(roleOf(request), (counts.get(roleOf(request)) ?? 0) + 1);
  return roles
    .filter((role) => counts.has(role))
    .map((role) => `${counts.get(role)} ${roleWords[role]}`)
    .join(" · ");
}

function Legend({ requests: all }: { requests: readonly RequestTrace[] }) {
  const used = new Set(all.map(roleOf));
  const marked = (type: string) => all.some(({ marks }) => marks.some((mark) => mark.type === type));
  if (marked("waiting")) used.add("waited");
  return (
    <ul class="legend">
      {roles
        .filter((role) => used.has(role) && role !== "open" && role !== "waiting")
        .map((role) => (
          <li key={role}>
            <span class={`bar ${role}`} /> {roleWords[role]}
          </li>
        ))}
      {used.has("gave-up") && marked("completed") && (
        <li>
          <span class="bar went-on" /> went on without its client
        </li>
      )}
      {marked("lease-renewed") && (
        <li>
          <span class="bar ran renewed" /> lease renewed
        </li>
      )}
      <li>A, B: which process served it</li>
    </ul>
  );
}
