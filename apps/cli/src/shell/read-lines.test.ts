import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { type ReadLine, readTyped } from "./read-lines.ts";

/** A terminal of streams, and what it showed. */
function openTerminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  const modes: boolean[] = [];
  let shown = "";
  output.on("data", (data: Buffer) => {
    shown += data.toString();
  });
  const terminal = {
    input: Object.assign(input, { setRawMode: (isRaw: boolean) => modes.push(isRaw) }),
    output,
    is_interactive: true,
    takeInterrupts: () => () => undefined,
  };
  const source = readTyped(terminal, {
    history: ["the first", "the last"],
    max_history: 10,
    complete: async () => [["count "], "co"],
    isSecret: (line) => line.startsWith("secret"),
  });
  return { input, modes, shown: () => shown, source };
}

const line = (text: string): ReadLine => ({ kind: "line", text });

test("reads typed lines, and gives the terminal to commands between them", async () => {
  const { input, modes, source } = openTerminal();
  const first = source.next("main> ");
  input.write("count docs\rcount notes\rls");
  expect(await first).toEqual(line("count docs"));
  expect(modes).toEqual([true, false]);
  expect(input.isPaused()).toBe(true);
  expect(await source.next("main> ")).toEqual(line("count notes"));
  const third = source.next("main> ");
  input.write("\r");
  expect(await third).toEqual(line("ls"));
  source.close();
});

test("Ctrl-C clears the line, and Ctrl-D ends", async () => {
  const { input, shown, source } = openTerminal();
  const first = source.next("main> ");
  input.write("cou\u0003");
  expect(await first).toEqual({ kind: "interrupt", was_empty: false });
  const second = source.next("main> ");
  input.write("\u0003");
  expect(await second).toEqual({ kind: "interrupt", was_empty: true });
  const third = source.next("main> ");
  input.write("\u0004");
  expect(await third).toEqual({ kind: "end" });
  expect(await source.next("main> ")).toEqual({ kind: "end" });
  expect(shown()).toContain("main> ");
});

test("the arrow keys show previous lines, without secrets", async () => {
  const { input, source } = openTerminal();
  const up = "\u001b[A";
  const first = source.next("> ");
  input.write(`${up}\r`);
  expect(await first).toEqual(line("the last"));
  const second = source.next("> ");
  input.write("secret set main A=b\r");
  expect(await second).toEqual(line("secret set main A=b"));
  const third = source.next("> ");
  input.write(`${up}\r`);
  expect(await third).toEqual(line("the last"));
  source.close();
});

test("the tab key completes", async () => {
  const { input, shown, source } = openTerminal();
  const reading = source.next("> ");
  input.write("co\t");
  await expect.poll(shown).toMatch(/unt $/);
  input.write("docs\r");
  expect(await reading).toEqual(line("count docs"));
  source.close();
});
