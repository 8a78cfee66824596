import { statSync } from "node:fs";
import { appError } from "@appdb/contract/errors";
import type { LocalDriverInput } from "../driver/local-driver.ts";
import type { PodSpec } from "../driver/pod-driver.ts";
import { POD_USERS, type UserRange } from "../driver/pod-users.ts";
import type { ControlGroups } from "./control-groups.ts";
import { openControlGroups } from "./open-groups.ts";
import { type AllowedHost, machineAddresses, networkRules, uplinkOptions } from "./sandbox-network.ts";
import type { EntryInput } from "./sandbox-scripts.ts";
import { type FilterMachine, isFilterMachine } from "./seccomp-filter.ts";

const GROUP = "/appdb";

export interface SandboxPodsInput extends LocalDriverInput {
  /** Parent control group of pods, as a path from the root group (`openControlGroups`); defaults to `/appdb`. */
  readonly group?: string;
}

/** What sandboxes are made with, also where no pod runs in them. */
export type SandboxHostInput = Pick<SandboxPodsInput, "folder" | "group" | "users">;

/** Common parts of all sandboxes of a driver. */
export interface SandboxHost {
  readonly folder: string;
  readonly users: UserRange;
  readonly groups: ControlGroups;
  readonly machine: FilterMachine;
  /** Whether each database has its own user; otherwise pods run as our user. */
  readonly is_root: boolean;
}

/** Finds the parts that sandboxes need on this machine. @throws pods_unavailable */
export function openSandboxHost({ folder, group, users }: SandboxHostInput): SandboxHost {
  if (!isFilterMachine(process.arch)) {
    throw appError("pods_unavailable", {
      detail: `No system call filter for the architecture ${process.arch}.`,
      hint: "Run the service with another driver: SERVICE_PODS=process",
    });
  }
  const groups = openControlGroups(group ?? GROUP);
  return { folder, groups, machine: process.arch, users: users ?? POD_USERS, is_root: process.getuid?.() === 0 };
}

/** Network of a sandbox for its entry program, with the machine's current addresses. */
export function entryNetwork(network: PodSpec["network"], allowed: readonly AllowedHost[]): EntryInput["network"] {
  if (network === "none") return null;
  const machine = machineAddresses();
  return { rules: networkRules(machine, allowed), uplink_options: uplinkOptions(machine) };
}

/** Whether only root may use the tunnel device here. Most systems allow everyone, because it grants no right. */
export function isTunnelClosed(): boolean {
  const device = statSync("/dev/net/tun", { throwIfNoEntry: false });
  return device !== undefined && (device.mode & 0o006) !== 0o006;
}
