import { useSignal } from "@preact/signals";
import { snippetFor } from "../shared/snippets.ts";
import { Scrollable } from "./scrollable.tsx";
import { framework, scene, sceneId, status } from "./state.ts";
import { frameworkNames, storeNames } from "./switches.tsx";

/** The code that configures what is on stage. */
export function Code() {
  const store = status.value?.store ?? "memory";
  const code = snippetFor(sceneId.value, framework.value, store);
  return (
    <section id="code" aria-labelledby="code-title">
      <h2 id="code-title">The code</h2>
      <p>
        This configures “{scene.value?.title}” with {frameworkNames[framework.value]} and {storeNames[store]}.
      </p>
      <div class="panel code">
        <CopyButton text={code} what="the code" />
        <Scrollable label="Code of the scene">
          <pre>
            <code>{code}</code>
          </pre>
        </Scrollable>
      </div>
    </section>
  );
}

/** Copies a text to the clipboard, and says so. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => {});
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 1_500);
  };
  return (
    <button type="button" class="small" onClick={copy} aria-label={`Copy ${what}`}>
      {copied.value ? "Copied" : "Copy"}
    </button>
  );
}
