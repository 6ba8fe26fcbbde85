import { Code } from "./code.tsx";
import { Live } from "./live.tsx";
import { Operator } from "./operator.tsx";
import { RequestBuilder } from "./request-builder.tsx";
import { Scenes } from "./scenes.tsx";
import { connected, status } from "./state.ts";
import { Switches } from "./switches.tsx";

/** The whole page. */
export function App() {
  return (
    <>
      <a class="skip" href="#scenes">
        Skip to the scenes
      </a>
      <header class="top">
        <div class="brand">
          <svg viewBox="0 0 32 32" width="34" height="34" aria-hidden="true">
            <path class="mark-ring" d="M27 16a11 11 0 1 1-4.2-8.7" />
            <path class="mark-arrow" d="M27.5 3.5v7h-7" />
            <circle class="mark-dot" cx="16" cy="16" r="3.6" />
          </svg>
          <div>
            <h1>Onceward</h1>
            <p>Run it once; retry it for ever.</p>
          </div>
        </div>
        <nav aria-label="Sections">
          <a href="#scenes">Scenes</a>
          <a href="#live">Live</a>
          <a href="#request">Request</a>
          <a href="#code">Code</a>
          <a href="#operator">Operator</a>
        </nav>
      </header>
      <main>
        <p class="lead">
          Clicks, retries and queues deliver the same request more than once. With a key on it, the work behind it runs
          once, and every duplicate gets the first answer. <strong>Pick a scene and watch.</strong>
        </p>
        <Switches />
        {status.value !== undefined && !connected.value && (
          <p class="notice" role="alert">
            The playground has ended. Start it again with <code>npx -y pnpm@12 demo</code>.
          </p>
        )}
        <Scenes />
        <Live />
        <RequestBuilder />
        <Code />
        <Operator />
      </main>
      <footer>
        <p>
          Two service processes, one store, real requests. Both sides of a scene get the same requests at the same
          moment; only one of them has Onceward.
        </p>
      </footer>
    </>
  );
}
