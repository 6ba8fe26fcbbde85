import { render } from "preact";
import { App } from "./app.tsx";
import { connect } from "./state.ts";
import "./style.css";
import "./controls.css";
import "./stage.css";
import "./timeline.css";
import "./panels.css";

const root = document.getElementById("app");
if (root) render(<App />, root);
connect();
