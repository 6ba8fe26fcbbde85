import { useSignal } from "@preact/signals";
import { CopyButton } from "./code.tsx";
import { presets } from "./presets.ts";
import { duration } from "./role.ts";
import { Scrollable } from "./scrollable.tsx";
import { framework, status } from "./state.ts";

interface Exchange {
  readonly response: string;
  readonly ms: number;
}

/** Sends one request at a time, and shows it raw. */
export function RequestBuilder() {
  const [first] = presets;
  const path = useSignal(first.path);
  const keyHeader = useSignal<string>(first.keyHeader);
  const key = useSignal(first.key());
  const body = useSignal(first.body);
  const exchange = useSignal<Exchange | undefined>(undefined);
  const address = status.value?.addresses[framework.value] ?? "";

  const headers = { "Content-Type": "application/json", ...(key.value && { [keyHeader.value]: key.value }) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const raw = [
    `POST ${path.value} HTTP/1.1`,
    `Host: ${new URL(address || location.href).host}`,
    ...lines,
    "",
    body.value,
  ];
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const curl = [
    `curl -i -X POST ${address}${path.value}`,
    ...lines.map((line) => `-H ${quoted(line)}`),
    `-d ${quoted(body.value)}`,
  ];

  const choose = (index: number) => {
    const preset = presets[index] ?? first;
    path.value = preset.path;
    keyHeader.value = preset.keyHeader;
    key.value = preset.key();
    body.value = preset.body;
    exchange.value = undefined;
  };
  async function send(): Promise<void> {
    const started = performance.now();
    const url = `/service/${framework.value}/with${path.value}`;
    try {
      const response = await fetch(url, { method: "POST", headers, body: body.value });
      const answer = [`HTTP/1.1 ${response.status} ${response.statusText}`];
      for (const [name, value] of response.headers) answer.push(`${name}: ${value}`);
      answer.push("", await response.text());
      exchange.value = { response: answer.join("\n"), ms: performance.now() - started };
    } catch (error) {
      exchange.value = { response: (error as Error).message, ms: performance.now() - started };
    }
  }

  return (
    <section id="request" aria-labelledby="request-title">
      <h2 id="request-title">Try a request</h2>
      <p>
        Send it twice: the second answer is a replay. Change the data but not the key, and see what the service says.
      </p>
      <div class="builder">
        <form
          class="panel"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <label>
            Service
            <select onChange={({ currentTarget }) => choose(currentTarget.selectedIndex)}>
              {presets.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            Path
            <input value={path.value} onInput={({ currentTarget }) => (path.value = currentTarget.value)} />
          </label>
          <label>
            {keyHeader.value}
            <span class="with-button">
              <input value={key.value} onInput={({ currentTarget }) => (key.value = currentTarget.value)} />
              <button type="button" class="small" onClick={() => (key.value = crypto.randomUUID())}>
                New key
              </button>
            </span>
          </label>
          <label>
            Body
            <textarea
              rows={6}
              spellcheck={false}
              value={body.value}
              onInput={({ currentTarget }) => (body.value = currentTarget.value)}
            />
          </label>
          <button type="submit" class="primary">
            Send
          </button>
        </form>
        <div class="raw">
          <Raw title="Request" text={raw.join("\n")} />
          <Raw
            title={exchange.value ? `Response, after ${duration(exchange.value.ms)}` : "Response"}
            text={exchange.value?.response ?? "Not sent yet."}
          />
          <Raw title="With curl" text={curl.join(" \\\n  ")} copy />
        </div>
      </div>
    </section>
  );
}

function Raw({ title, text, copy }: { title: string; text: string; copy?: boolean }) {
  return (
    <div class="panel code">
      <h3>{title}</h3>
      {copy && <CopyButton text={text} what="the curl line" />}
      <Scrollable label={`${title}, raw`}>
        <pre>
          <code>{text}</code>
        </pre>
      </Scrollable>
    </div>
  );
}
