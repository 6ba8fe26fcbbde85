import { useSignal } from "@preact/signals";
import type { Run, SceneCard, Side } from "../shared/messages.ts";
import { DoubleClickForm } from "./double-click-form.tsx";
import { effects, perform, run, scene, sceneId, scenes, status } from "./state.ts";
import { Timeline } from "./timeline.tsx";

/** The scenes, and the one on stage. */
export function Scenes() {
  return (
    <section id="scenes" aria-labelledby="scenes-title">
      <h2 id="scenes-title">Scenes</h2>
      <div class="theatre">
        <ul class="playbill">
          {scenes.value.map(({ id, title }) => (
            <li key={id}>
              <button
                type="button"
                aria-pressed={sceneId.value === id}
                onClick={() => {
                  sceneId.value = id;
                }}
              >
                {title}
              </button>
            </li>
          ))}
        </ul>
        {scene.value && <StageOf key={scene.value.id} card={scene.value} />}
      </div>
    </section>
  );
}

function StageOf({ card }: { card: SceneCard }) {
  const problem = useSignal<string | undefined>(undefined);
  const current = run.value;
  const playing = card.by === "server" && current?.state === "running";
  const start = () => {
    problem.value = undefined;
    perform().catch((error: Error) => {
      problem.value = error.message;
    });
  };
  return (
    <article class="stage panel" aria-labelledby="scene-title" data-state={current?.state ?? "idle"}>
      <div class="script">
        <h3 id="scene-title">{card.title}</h3>
        <p>{card.story}</p>
        {card.by === "visitor" ? (
          <DoubleClickForm />
        ) : (
          <button type="button" class="primary" disabled={playing || !status.value} onClick={start}>
            {playing ? "Playing …" : current ? "Play it again" : "Play the scene"}
          </button>
        )}
      </div>
      <div class="counters" aria-live="polite">
        <Counter side="with" card={card} run={current} />
        <Counter side="without" card={card} run={current} />
      </div>
      {current ? <Timeline run={current} /> : <p class="empty">What happens will be drawn here, request by request.</p>}
      {(problem.value ?? current?.error) !== undefined && (
        <p class="notice" role="alert">
          {problem.value ?? current?.error}
        </p>
      )}
      {current?.state === "done" && <p class="moral">{card.moral}</p>}
    </article>
  );
}

function Counter({ side, card, run: current }: { side: Side; card: SceneCard; run: Run | undefined }) {
  const happened = effects.value.filter((effect) => current && effect.run === current.id && effect.side === side);
  const records = happened.filter(({ kind }) => kind === "record").length;
  const mails = happened.length - records;
  return (
    <div class={`counter ${side}`} data-side={side} data-records={records}>
      <span class="side">{side === "with" ? "With Onceward" : "Without"}</span>
      <span class="number">{current ? records : "–"}</span>
      <span class="unit">
        {records === 1 ? card.counts.replace(/s$/, "") : card.counts}
        <small>{current ? `${mails} ${mails === 1 ? "mail" : "mails"} sent` : "not played yet"}</small>
      </span>
    </div>
  );
}
