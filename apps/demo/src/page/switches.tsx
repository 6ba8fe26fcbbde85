import { frameworks, type StoreKind } from "../shared/messages.ts";
import { chooseStore, framework, pendingStore, status } from "./state.ts";

/** As their makers write them. */
export const frameworkNames = { express: "Express", fastify: "Fastify", hono: "Hono" } as const;
/** As the page calls them. */
export const storeNames: Record<StoreKind, string> = {
  memory: "Memory",
  pglite: "PGlite",
  redis: "Redis",
  postgres: "Postgres",
};

/** Says how the two processes share the store, honestly. */
function sharing(store: StoreKind): string {
  return store === "memory" || store === "pglite"
    ? "It lives in the playground's main process; the service's two processes reach it through a pipe."
    : "Each of the service's two processes has connections of its own.";
}

/** Which framework serves, and where records are kept. */
export function Switches() {
  const { store, stores = [], storeNote, instances } = status.value ?? {};
  return (
    <div class="switches">
      <fieldset>
        <legend>Framework</legend>
        <div class="segments">
          {frameworks.map((name) => (
            <label key={name}>
              <input
                type="radio"
                name="framework"
                value={name}
                checked={framework.value === name}
                onChange={() => {
                  framework.value = name;
                }}
              />
              <span>{frameworkNames[name]}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset>
        <legend>Store</legend>
        <div class="segments">
          {stores.map(({ kind, available, note }) => (
            <label key={kind} title={note}>
              <input
                type="radio"
                name="store"
                value={kind}
                checked={(pendingStore.value ?? store) === kind}
                disabled={!available}
                onChange={() => chooseStore(kind)}
              />
              <span>{storeNames[kind]}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <div class="switch-notes">
        {storeNote !== undefined && (
          <p role="status" class="notice">
            {storeNote}
          </p>
        )}
        {store && storeNote === undefined && (
          <p>
            {storeNames[store]}: {sharing(store)}
          </p>
        )}
        {stores
          .filter(({ available }) => !available)
          .map(({ kind, note }) => (
            <p key={kind}>
              {storeNames[kind]} is not here. {note}.
            </p>
          ))}
        {instances && (
          <p class="processes">
            {(["A", "B"] as const).map((name) => (
              <span key={name} class={instances[name].alive ? "alive" : "dead"}>
                Process {name} {instances[name].alive ? `runs (${instances[name].pid})` : "is starting again"}
              </span>
            ))}
          </p>
        )}
      </div>
    </div>
  );
}
