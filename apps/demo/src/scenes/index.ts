import { doubleClick } from "./double-click.ts";
import { expiry } from "./expiry.ts";
import { killedRunner } from "./killed-runner.ts";
import { otherData } from "./other-data.ts";
import { outage } from "./outage.ts";
import type { Scene } from "./scene.ts";
import { slowHandler } from "./slow-handler.ts";
import { storm } from "./storm.ts";
import { timeOut } from "./time-out.ts";

/** All scenes, in the order in which a newcomer should see them. */
export const scenes: readonly Scene[] = [
  doubleClick,
  timeOut,
  storm,
  otherData,
  slowHandler,
  killedRunner,
  outage,
  expiry,
];
