import type { RequestTrace } from "../shared/messages.ts";
import { duration, roleOf } from "./role.ts";

const WIDTH = 320;
const HEIGHT = 120;
const POINTS = 80;
/** The scale is logarithmic: a replay takes milliseconds, the work perhaps seconds. */
const LOWEST_MS = 1;
const HIGHEST_MS = 10_000;
const LINES_MS = [10, 100, 1_000];

const height = (ms: number) => {
  const share = Math.log(Math.max(LOWEST_MS, ms) / LOWEST_MS) / Math.log(HIGHEST_MS / LOWEST_MS);
  return HEIGHT - 6 - share * (HEIGHT - 12);
};

/** One dot for each request: how long it took, run or replayed. Those that waited count as neither. */
export function LatencyChart({ requests }: { requests: readonly RequestTrace[] }) {
  const timed = requests
    .map((request) => ({ role: roleOf(request), ms: (request.endedAt ?? 0) - request.startedAt, id: request.id }))
    .filter(({ role }) => role === "ran" || role === "replayed")
    .slice(-POINTS);
  const median = (role: string) => {
    const sorted = timed.filter((one) => one.role === role).map(({ ms }) => ms);
    sorted.sort((one, other) => one - other);
    const middle = sorted[Math.floor(sorted.length / 2)];
    return middle === undefined ? "none yet" : duration(middle);
  };
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        {LINES_MS.map((ms) => (
          <g key={ms}>
            <line x1="42" x2={WIDTH} y1={height(ms)} y2={height(ms)} />
            <text x="36" y={height(ms) + 3.5}>
              {duration(ms)}
            </text>
          </g>
        ))}
        {timed.map(({ id, role, ms }, index) => (
          <circle
            key={id}
            class={role}
            cx={50 + (index * (WIDTH - 58)) / Math.max(1, timed.length - 1)}
            cy={height(ms)}
            r="3.4"
          />
        ))}
      </svg>
      <figcaption>
        Median: <span class="swatch ran" /> new {median("ran")}, <span class="swatch replayed" /> replayed{" "}
        {median("replayed")}
      </figcaption>
    </figure>
  );
}
