import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { createPsProcesses } from "./posix-ps.ts";

/**
 * Output of `LC_ALL=C TZ=UTC0 ps -ww -o <columns> -p <pid>` on macOS 14, according to its manual and sources (adv_cmds,
 * print.c): `stat` has `s` for a session leader and `+` for the foreground, `lstart` is strftime's `%c`.
 */
const MACOS = {
  "stat=,lstart=": "Ss   Wed Nov  5 09:07:02 2026    \n",
  "command=":
    "/Users/jörg/Library/Application Support/venv/bin/postgres -D /Users/jörg/.service/postgres/18 -k /var/folders/zz/T/appdb-501-0123456789ab -c listen_addresses=\n",
};
const MACOS_TABLE = `    1     0     1 Ss
  501     1   501 S
  502   501   501 R+
  503   501   501 Z
`;

function recorded(answers: Readonly<Record<string, string>>) {
  return createPsProcesses((args) => answers[args[args.indexOf("-o") + 1] ?? ""]);
}

test("identifies a macOS process by its start time", () => {
  expect(recorded(MACOS).started(501)).toBe("Wed Nov 5 09:07:02 2026");
});

test("returns no start time for a zombie or a missing macOS process", () => {
  expect(recorded({ "stat=,lstart=": "Z    Wed Nov  5 09:07:02 2026\n" }).started(503)).toBeUndefined();
  expect(recorded({}).started(503)).toBeUndefined();
});

test("reads a long macOS command line completely", () => {
  expect(recorded(MACOS).commandLine(501)).toContain("/.service/postgres/18 -k");
});

test("lists macOS processes with the group as session", () => {
  expect(recorded({ "pid=,ppid=,pgid=,stat=": MACOS_TABLE }).list()).toEqual([
    { pid: 1, parent: 0, group: 1, session: 1 },
    { pid: 501, parent: 1, group: 501, session: 501 },
    { pid: 502, parent: 501, group: 501, session: 501 },
  ]);
});

test.skipIf(process.platform === "win32")("reads the ps of this machine", async () => {
  const long = "x".repeat(300);
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", long], { stdio: "ignore" });
  try {
    const system = createPsProcesses();
    const pid = child.pid ?? 0;
    expect(system.started(pid)).toMatch(/^\w{3} \w{3} \d+ \d\d:\d\d:\d\d \d{4}$/);
    expect(system.started(pid)).toBe(system.started(pid));
    expect(system.commandLine(pid)).toContain(long);
    expect(system.list()).toContainEqual(expect.objectContaining({ pid, parent: process.pid }));
    child.kill("SIGKILL");
    await once(child, "exit");
    expect([system.started(pid), system.commandLine(pid)]).toEqual([undefined, undefined]);
  } finally {
    child.kill("SIGKILL");
  }
});

test.skipIf(process.platform === "win32")("formats a start time independently of language and time zone", () => {
  const system = createPsProcesses();
  const before = system.started(process.pid);
  const { LC_ALL, TZ } = process.env;
  try {
    Object.assign(process.env, { LC_ALL: "de_DE.UTF-8", TZ: "Asia/Tokyo" });
    expect(system.started(process.pid)).toBe(before);
  } finally {
    for (const [name, value] of Object.entries({ LC_ALL, TZ })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});
