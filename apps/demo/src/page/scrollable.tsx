import type { ComponentChildren } from "preact";

/** What scrolls must be reachable by keyboard, and have a name. */
export function Scrollable({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="scrolls" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
