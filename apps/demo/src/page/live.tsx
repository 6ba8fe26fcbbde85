import type { FeedEvent, RequestTrace } from "../shared/messages.ts";
import { LatencyChart } from "./latency-chart.tsx";
import { Scrollable } from "./scrollable.tsx";
import { effects, events, hitRate, requests, stats } from "./state.ts";

const SHOWN = 60;

/** What is going on, in events and numbers. */
export function Live() {
  const { percent, replayed, total } = hitRate.value;
  const { size = 0, running = 0, ages = [] } = stats.value ?? {};
  const most = Math.max(1, ...ages.map(({ count }) => count));
  const happened = effects.value.filter(({ side }) => side === "with");
  const served = [...requests.value.values()].filter(isKeyed);
  return (
    <section id="live" aria-labelledby="live-title">
      <h2 id="live-title">Live</h2>
      <div class="live">
        <div class="numbers">
          <div class="panel figure">
            <span class="number">{percent === undefined ? "–" : `${percent} %`}</span>
            <span>
              hit rate
              <small>
                {replayed} of {total} were replays
              </small>
            </span>
          </div>
          <div class="panel figure">
            <span class="number">{size}</span>
            <span>
              keys in the store <small>{running} running</small>
            </span>
          </div>
          <div class="panel ages">
            <h3>Key ages</h3>
            <ul>
              {ages.map(({ label, count }) => (
                <li key={label}>
                  <span>{label}</span>
                  <span class="meter" aria-hidden="true">
                    <span style={{ width: `${(100 * count) / most}%` }} />
                  </span>
                  <span>{count}</span>
                </li>
              ))}
            </ul>
          </div>
          <div class="panel latency">
            <h3>Latency, new against replayed</h3>
            <LatencyChart requests={served} />
          </div>
          <div class="panel ledger">
            <h3>Effects ledger</h3>
            <ol>
              {happened
                .slice(-6)
                .reverse()
                .map(({ id, what, instance }) => (
                  <li key={id}>
                    <code>{id}</code> {what} <small>by {instance}</small>
                  </li>
                ))}
            </ol>
            {happened.length === 0 && <p class="empty">Nothing has happened yet.</p>}
          </div>
        </div>
        <div class="panel feed">
          <h3>Events</h3>
          {events.value.length === 0 && <p class="empty">Onceward tells here what it does. Play a scene.</p>}
          <Scrollable label="Events, latest first">
            <ol>
              {events.value
                .slice(-SHOWN)
                .reverse()
                .map((event) => (
                  <Entry key={`${event.at} ${event.type} ${event.request} ${event.detail}`} event={event} />
                ))}
            </ol>
          </Scrollable>
        </div>
      </div>
    </section>
  );
}

const isKeyed = ({ side, marks, fate }: RequestTrace) => side === "with" && fate === "answered" && marks.length > 0;

function Entry({ event }: { event: FeedEvent }) {
  const { at, type, instance, key, operation, detail } = event;
  return (
    <li class={`event ${type}`}>
      <time>{new Date(at).toLocaleTimeString("en-GB")}</time>
      <span class="type">{type}</span>
      <span class="detail">
        {key && <code>{key}</code>} {detail}
        {operation && <small>{operation}</small>}
      </span>
      <span class="who" title={`Process ${instance}`}>
        {instance}
      </span>
    </li>
  );
}
