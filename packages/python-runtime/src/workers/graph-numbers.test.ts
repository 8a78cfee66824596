import { expect, test } from "vitest";
import { GraphNumbers, KNOWN_GRAPHS } from "./graph-numbers.ts";

const idle = () => false;

test("a graph keeps its number while the process knows it", () => {
  const numbers = new GraphNumbers();
  expect(numbers.numberOf("a", idle)).toEqual({ number: 1, is_new: true });
  expect(numbers.numberOf("b", idle)).toEqual({ number: 2, is_new: true });
  expect(numbers.numberOf("a", idle)).toEqual({ number: 1, is_new: false });
});

test("beyond the maximum the graph used least recently gives its number away", () => {
  const numbers = new GraphNumbers();
  for (let at = 1; at <= KNOWN_GRAPHS; at++) numbers.numberOf(`g${at}`, idle);
  numbers.numberOf("g1", idle);
  expect(numbers.numberOf("new", idle)).toEqual({ number: 2, is_new: true });
  expect(numbers.numberOf("g1", idle)).toEqual({ number: 1, is_new: false });
  expect(numbers.numberOf("g2", idle)).toEqual({ number: 3, is_new: true });
});

test("a running graph keeps its number, and no two graphs share one", () => {
  const numbers = new GraphNumbers();
  for (let at = 1; at <= KNOWN_GRAPHS; at++) numbers.numberOf(`g${at}`, idle);
  expect(numbers.numberOf("new", (key) => key === "g1").number).toBe(2);
  expect(numbers.numberOf("newer", () => true).number).toBe(KNOWN_GRAPHS + 1);
  expect(numbers.numberOf("g1", idle)).toEqual({ number: 1, is_new: false });
});
