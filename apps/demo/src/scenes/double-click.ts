import type { Scene } from "./scene.ts";

/** The visitor clicks in the page; the page sends the requests. */
export const doubleClick: Scene = {
  id: "double-click",
  title: "Double click",
  story:
    "A visitor fills in a form and clicks Send twice. The browser sends two requests. The form broker makes one key out of the session and the form's data, so the form itself needs no code.",
  moral: "Two requests, one lead. The second waited for the first and got the same answer.",
  by: "visitor",
  counts: "leads",
  expected: { with: 1, without: 2 },
};
