import { describe, expect, it } from "vitest";
import { CHECKED_CALLS, DENIED_CALLS, DENIED_CALLS_OF_CODE, LAST_CALL } from "./seccomp-calls.ts";
import { type FilterMachine, seccompFilter } from "./seccomp-filter.ts";

const X64 = 0xc000003e;
const I386 = 0x40000003;
const CLONE_NEWUSER = 0x10000000;
const SIGCHLD = 17;

/** The kernel's decision about a call: executes the filter's instructions as linux/filter.h defines them. */
function decide(filter: Buffer, number: number, args: readonly number[] = [], machine = X64): string {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, machine, true);
  for (const [index, value] of args.entries()) data.setUint32(16 + 8 * index, value, true);
  let loaded = 0;
  for (let at = 0; at < filter.byteLength; at += 8) {
    const value = filter.readUInt32LE(at + 4);
    const jump = (isMet: boolean) => 8 * filter.readUInt8(at + (isMet ? 2 : 3));
    switch (filter.readUInt16LE(at)) {
      case 0x20:
        loaded = data.getUint32(value, true);
        break;
      case 0x15:
        at += jump(loaded === value);
        break;
      case 0x25:
        at += jump(loaded > value);
        break;
      case 0x35:
        at += jump(loaded >= value);
        break;
      case 0x45:
        at += jump((loaded & value) !== 0);
        break;
      case 0x06:
        if (value === 0x7fff0000) return "allowed";
        return value === 0x80000000 ? "killed" : `error ${value & 0xffff}`;
      default:
        throw new Error(`unknown instruction at ${at}`);
    }
  }
  throw new Error("the filter ends without an answer");
}

describe.each(["x64", "arm64"] as const)("system-call filter on %s", (machine: FilterMachine) => {
  const architecture = machine === "x64" ? X64 : 0xc00000b7;
  const column = machine === "x64" ? 0 : 1;
  const pod = seccompFilter(machine, "pod");
  const code = seccompFilter(machine, "code");

  it("denies exactly the listed calls, in a pod and for application code", () => {
    const denied = Object.values(DENIED_CALLS).map((call) => call[column]);
    const deniedOfCode = Object.values(DENIED_CALLS_OF_CODE).map((call) => call[column]);
    const checked = Object.values(CHECKED_CALLS).map((call) => call[column]);
    for (let number = 0; number <= LAST_CALL; number += 1) {
      if (checked.some((other) => other === number)) continue;
      const isUnused = number >= (machine === "x64" ? 335 : 295) && number <= 423;
      const used = denied.some((other) => other === number) ? "error 1" : "allowed";
      const here = isUnused ? "error 38" : used;
      expect(`${number} ${decide(pod, number, [], architecture)}`).toBe(`${number} ${here}`);
      const there = deniedOfCode.some((other) => other === number) ? "error 1" : here;
      expect(`${number} ${decide(code, number, [], architecture)}`).toBe(`${number} ${there}`);
    }
  });

  it("reports newer calls as not implemented", () => {
    expect(decide(pod, LAST_CALL + 1, [], architecture)).toBe("error 38");
    expect(decide(code, 0x3fffffff, [], architecture)).toBe("error 38");
  });

  it("kills programs of another architecture", () => {
    expect(decide(pod, 1, [], I386)).toBe("killed");
    expect(decide(code, 1, [], machine === "x64" ? 0xc00000b7 : X64)).toBe("killed");
  });

  it("allows only sockets of local and internet families", () => {
    const socket = CHECKED_CALLS.socket[column];
    const families = Array.from({ length: 50 }, (_, family) => family);
    expect(families.filter((family) => decide(code, socket, [family, 1, 0], architecture) === "allowed")).toEqual([
      1, 2, 10, 16,
    ]);
    const packetNetlink = [16, 3, 12];
    expect(decide(code, socket, packetNetlink, architecture)).toBe("error 97");
    expect(decide(pod, socket, [40, 1, 0], architecture)).toBe("error 97");
  });

  it("application code may start threads and processes but no namespaces", () => {
    const [clone, clone3] = [CHECKED_CALLS.clone[column], CHECKED_CALLS.clone3[column]];
    expect(decide(code, clone, [SIGCHLD], architecture)).toBe("allowed");
    expect(decide(code, clone, [SIGCHLD | CLONE_NEWUSER], architecture)).toBe("error 1");
    expect(decide(code, clone3, [], architecture)).toBe("error 38");
    expect(decide(pod, clone, [SIGCHLD | CLONE_NEWUSER], architecture)).toBe("allowed");
    expect(decide(pod, clone3, [], architecture)).toBe("allowed");
  });

  it("denies injecting terminal input and obsolete personalities", () => {
    const [ioctl, personality] = [CHECKED_CALLS.ioctl[column], CHECKED_CALLS.personality[column]];
    expect(decide(code, ioctl, [0, 0x5412], architecture)).toBe("error 1");
    expect(decide(code, ioctl, [0, 0x5401], architecture)).toBe("allowed");
    expect(decide(code, personality, [0xffffffff], architecture)).toBe("allowed");
    expect(decide(code, personality, [0x0040000], architecture)).toBe("error 1");
  });
});

it("denies calls with short pointers on x86-64", () => {
  expect(decide(seccompFilter("x64", "pod"), 0x40000000)).toBe("error 38");
  expect(decide(seccompFilter("x64", "code"), 0x40000001)).toBe("error 38");
});
