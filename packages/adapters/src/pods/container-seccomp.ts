import { DENIED_CALLS, DENIED_CALLS_OF_CODE } from "./seccomp-calls.ts";

const ERROR = "SCMP_ACT_ERRNO";
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
/** NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWNS of linux/sched.h; NEWTIME is of clone3 alone. */
const NEW_NAMESPACES = [0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000];
const AF_NETLINK = 16;
/** AF_UNIX, AF_INET and AF_INET6; of AF_NETLINK routes alone, which the look for a host's address needs. */
const ALLOWED_FAMILIES = [1, 2, 10, AF_NETLINK];
/** Put keys into a terminal's input. */
const DENIED_IOCTLS = [0x5412, 0x541c];
/** MMAP_PAGE_ZERO, ADDR_NO_RANDOMIZE and READ_IMPLIES_EXEC: memory that is easier to attack. */
const DENIED_PERSONALITIES = [0x0100000, 0x0040000, 0x0400000];
/** The question which one it is has all bits; what is asked for has none of these. */
const PERSONALITY_QUESTION = 0xff000000;

interface SeccompArgument {
  readonly index: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_NE" | "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
  /** The mask, where there is one. */
  readonly value: number;
  readonly valueTwo?: number;
}

interface SeccompRule {
  readonly names: readonly string[];
  readonly action: typeof ERROR;
  readonly errnoRet: number;
  /** All of them must hold. */
  readonly args?: readonly SeccompArgument[];
}

/**
 * The filter of system calls in the form of container engines, which replaces their own: a pod may make namespaces, because the
 * sandbox of the application's code is made in it; `code` may not. The same calls are denied as by `seccompFilter`. Pure.
 */
export function seccompProfile(level: "pod" | "code"): string {
  const denied = [...Object.keys(DENIED_CALLS), ...(level === "code" ? Object.keys(DENIED_CALLS_OF_CODE) : [])];
  const families = Array.from({ length: AF_NETLINK }, (_, family) => family);
  const rules: SeccompRule[] = [
    refuse(denied, EPERM),
    ...families
      .filter((family) => !ALLOWED_FAMILIES.includes(family))
      .map((value) => refuse(["socket"], EAFNOSUPPORT, [{ index: 0, op: "SCMP_CMP_EQ", value }])),
    refuse(["socket"], EAFNOSUPPORT, [{ index: 0, op: "SCMP_CMP_GT", value: AF_NETLINK }]),
    refuse(["socket"], EAFNOSUPPORT, [
      { index: 0, op: "SCMP_CMP_EQ", value: AF_NETLINK },
      { index: 2, op: "SCMP_CMP_NE", value: 0 },
    ]),
    ...DENIED_IOCTLS.map((value) => refuse(["ioctl"], EPERM, [{ index: 1, op: "SCMP_CMP_EQ", value }])),
    ...DENIED_PERSONALITIES.map((flag) =>
      refuse(["personality"], EPERM, [
        { index: 0, op: "SCMP_CMP_MASKED_EQ", value: PERSONALITY_QUESTION + flag, valueTwo: flag },
      ]),
    ),
    ...(level === "code" ? namespaceRules() : []),
  ];
  return JSON.stringify({ defaultAction: "SCMP_ACT_ALLOW", syscalls: rules });
}

/** Nobody looks into the memory in which `clone3` is told its flags; programs use `clone` when it is not there. */
function namespaceRules(): SeccompRule[] {
  return [
    refuse(["clone3"], ENOSYS),
    ...NEW_NAMESPACES.map((flag) =>
      refuse(["clone"], EPERM, [{ index: 0, op: "SCMP_CMP_MASKED_EQ", value: flag, valueTwo: flag }]),
    ),
  ];
}

function refuse(names: readonly string[], errnoRet: number, args?: readonly SeccompArgument[]): SeccompRule {
  return { names, action: ERROR, errnoRet, ...(args === undefined ? {} : { args }) };
}
