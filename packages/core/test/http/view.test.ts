import { expect, it } from "vitest";
import { splitTarget } from "../../src/index.ts";

it.each([
  ["/orders", ["/orders", ""]],
  ["/orders?a=1&b=/?", ["/orders", "a=1&b=/?"]],
  ["/orders?a#b?c", ["/orders", "a"]],
  ["http://shop.example:80/orders?a", ["/orders", "a"]],
  ["HTTPS://shop.example?a", ["", "a"]],
  ["//shop.example/orders", ["//shop.example/orders", ""]],
  ["*", ["*", ""]],
])("splitTarget(%j)", (target, parts) => expect(splitTarget(target)).toEqual(parts));
