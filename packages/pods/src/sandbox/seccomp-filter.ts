import {
  type CallNumbers,
  CHECKED_CALLS,
  DENIED_CALLS,
  DENIED_CALLS_OF_CODE,
  LAST_CALL,
  UNUSED_CALLS,
} from "./seccomp-calls.ts";

/** Architectures that have a filter, as Node names them. */
export type FilterMachine = "x64" | "arm64";

/** Identifies the architecture of a call: AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
const ARCHITECTURES = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
/** x86-64 repeats its calls from this number for programs with short pointers (x32). */
const X32_CALLS = 0x40000000;

const KILL_PROCESS = 0x80000000;
const ALLOW = 0x7fff0000;
const ERROR = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Offsets in struct seccomp_data: call number, architecture, and the lower half of each argument. */
const NUMBER_AT = 0;
const MACHINE_AT = 4;
const argumentAt = (index: number) => 16 + 8 * index;

/** AF_UNIX, AF_INET, AF_INET6. Others (vsock, alg, packet, bluetooth ...) have no namespace or no use. */
const ALLOWED_FAMILIES = [1, 2, 10];
const AF_NETLINK = 16;
/** NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWNS and NEWTIME of linux/sched.h. */
const NEW_NAMESPACES =
  0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000 | 0x00000080;
/** Linux itself, and the query for the current personality. */
const ALLOWED_PERSONALITIES = [0, 0xffffffff];
/** Inject characters into a terminal's input. */
const DENIED_IOCTLS = [0x5412, 0x541c];

/**
 * Builds the seccomp filter that `bwrap --seccomp` reads. Denied calls return EPERM, unreviewed calls ENOSYS, and a
 * program of another architecture is killed. `pod` may create namespaces for the sandbox of the application's code;
 * `code` may not.
 */
export function seccompFilter(machine: FilterMachine, level: "pod" | "code"): Buffer {
  return assemble([
    load(MACHINE_AT),
    unlessEqual(ARCHITECTURES[machine], [answer(KILL_PROCESS)]),
    load(NUMBER_AT),
    ...(machine === "x64" ? [whenAtLeast(X32_CALLS, [answer(ERROR | ENOSYS)])] : []),
    whenAtLeast(LAST_CALL + 1, [answer(ERROR | ENOSYS)]),
    whenBetween(UNUSED_CALLS[machine], [answer(ERROR | ENOSYS)]),
    ...numbersOf(DENIED_CALLS, machine).map((number) => whenEqual(number, [answer(ERROR | EPERM)])),
    ...checks(machine, level),
    answer(ALLOW),
  ]);
}

/** Whether a filter exists for this architecture. */
export function isFilterMachine(architecture: string): architecture is FilterMachine {
  return architecture in ARCHITECTURES;
}

/** One instruction, or several that a jump skips together. */
type Part =
  | { readonly code: number; readonly value: number; readonly yes?: number; readonly no?: number }
  | readonly Part[];

const load = (offset: number): Part => ({ code: 0x20, value: offset });
const answer = (value: number): Part => ({ code: 0x06, value });
const whenEqual = (value: number, then: readonly Part[]): Part => [
  { code: 0x15, value, yes: 0, no: size(then) },
  ...then,
];
const unlessEqual = (value: number, then: readonly Part[]): Part => [
  { code: 0x15, value, yes: size(then), no: 0 },
  ...then,
];
const whenAtLeast = (value: number, then: readonly Part[]): Part => [
  { code: 0x35, value, yes: 0, no: size(then) },
  ...then,
];
const whenAnyBit = (value: number, then: readonly Part[]): Part => [
  { code: 0x45, value, yes: 0, no: size(then) },
  ...then,
];

function whenBetween([first, last]: readonly [number, number], then: readonly Part[]): Part {
  const below = { code: 0x35, value: first, yes: 0, no: size(then) + 1 };
  return [below, { code: 0x25, value: last, yes: size(then), no: 0 }, ...then];
}

/** Each check loads an argument over the call number, so it must end with a decision. */
function checks(machine: FilterMachine, level: "pod" | "code"): Part[] {
  const when = (call: CallNumbers, then: Part[]) => {
    const number = numberOf(call, machine);
    return number === null ? [] : [whenEqual(number, [...then, answer(ALLOW)])];
  };
  const families = ALLOWED_FAMILIES.map((family) => whenEqual(family, [answer(ALLOW)]));
  // routing only: other netlink protocols reveal firewalls, audits and devices
  const routes = whenEqual(AF_NETLINK, [load(argumentAt(2)), whenEqual(0, [answer(ALLOW)])]);
  const personalities = ALLOWED_PERSONALITIES.map((value) => whenEqual(value, [answer(ALLOW)]));
  return [
    ...when(CHECKED_CALLS.socket, [load(argumentAt(0)), ...families, routes, answer(ERROR | EAFNOSUPPORT)]),
    ...when(CHECKED_CALLS.personality, [load(argumentAt(0)), ...personalities, answer(ERROR | EPERM)]),
    ...when(CHECKED_CALLS.ioctl, [
      load(argumentAt(1)),
      ...DENIED_IOCTLS.map((value) => whenEqual(value, [answer(ERROR | EPERM)])),
    ]),
    ...(level === "pod" ? [] : checksOfCode(machine, when)),
  ];
}

function checksOfCode(machine: FilterMachine, when: (call: CallNumbers, then: Part[]) => Part[]): Part[] {
  return [
    ...numbersOf(DENIED_CALLS_OF_CODE, machine).map((number) => whenEqual(number, [answer(ERROR | EPERM)])),
    ...when(CHECKED_CALLS.clone, [load(argumentAt(0)), whenAnyBit(NEW_NAMESPACES, [answer(ERROR | EPERM)])]),
    // its flags are in memory, which a filter cannot read; the C library then falls back to clone
    ...when(CHECKED_CALLS.clone3, [answer(ERROR | ENOSYS)]),
  ];
}

function numbersOf(calls: Readonly<Record<string, CallNumbers>>, machine: FilterMachine): number[] {
  return Object.values(calls).flatMap((call) => numberOf(call, machine) ?? []);
}

function numberOf(call: CallNumbers, machine: FilterMachine): number | null {
  return machine === "x64" ? call[0] : call[1];
}

function size(parts: readonly Part[]): number {
  return parts.reduce((total, part) => total + ("code" in part ? 1 : size(part)), 0);
}

/** Eight bytes per instruction, little-endian on both architectures. */
function assemble(parts: readonly Part[]): Buffer {
  const bytes = Buffer.alloc(8 * size(parts));
  let offset = 0;
  const write = (part: Part): void => {
    if (!("code" in part)) {
      for (const inner of part) write(inner);
      return;
    }
    bytes.writeUInt16LE(part.code, offset);
    bytes.writeUInt8(part.yes ?? 0, offset + 2);
    bytes.writeUInt8(part.no ?? 0, offset + 3);
    bytes.writeUInt32LE(part.value >>> 0, offset + 4);
    offset += 8;
  };
  for (const part of parts) write(part);
  return bytes;
}
