import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { RUN_HEADER } from "../shared/headers.ts";
import type { Run } from "../shared/messages.ts";
import { act, framework, perform } from "./state.ts";

/** So long after its last click a performance is over. */
const QUIET_MS = 600;

/**
 * A form as any site has it: every click sends it, and nothing here prevents a second one. It has no key; the broker
 * makes one from the session (`contextId`) and the data.
 */
export function DoubleClickForm() {
  const name = useSignal("John Doe");
  const email = useSignal("john@example.com");
  const performance = useRef<Promise<Run> | undefined>(undefined);
  const session = useRef(crypto.randomUUID());
  const timer = useRef(0);
  const open = useRef(0);

  const over = () => {
    performance.current?.then(({ id }) => act("end-scene", { run: id })).catch(() => {});
    performance.current = undefined;
    // The next double click is another visit.
    session.current = crypto.randomUUID();
  };
  useEffect(() => () => clearTimeout(timer.current), []);

  async function send(): Promise<void> {
    clearTimeout(timer.current);
    performance.current ??= perform();
    const body = {
      contextId: `test-form:${session.current}`,
      formData: { name: name.value, email: email.value },
    };
    open.current += 1;
    try {
      const { id } = await performance.current;
      const post = (side: string) =>
        fetch(`/service/${framework.value}/${side}/api/forms/test-form/submit`, {
          method: "POST",
          headers: { "content-type": "application/json", [RUN_HEADER]: id },
          body: JSON.stringify(body),
        });
      await Promise.all([post("with"), post("without")]);
    } finally {
      open.current -= 1;
      if (open.current === 0) timer.current = window.setTimeout(over, QUIET_MS);
    }
  }

  return (
    <form
      class="visitor-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label>
        Name
        <input
          autocomplete="off"
          value={name.value}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <label>
        E-mail
        <input
          type="email"
          autocomplete="off"
          value={email.value}
          onInput={({ currentTarget }) => (email.value = currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Send
      </button>
      <p class="hint">Click Send twice, as fast as you like.</p>
    </form>
  );
}
