import { expect, test } from "vitest";
import { findGroupTrees, hasAllTrees, missingControllers } from "./control-groups.ts";

const FIRST = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
34 31 0:31 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
35 31 0:32 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`;
const SECOND = "31 23 0:28 / /sys/fs/cgroup\\040here rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate";

test("finds version 1 controllers in their own trees with our group", () => {
  const trees = findGroupTrees(FIRST, "3:pids:/\n2:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n", () => "hugetlb\n");
  expect(trees).toEqual({
    cpu: { version: 1, root: "/sys/fs/cgroup/cpu,cpuacct", own: "/sys/fs/cgroup/cpu,cpuacct/" },
    memory: { version: 1, root: "/sys/fs/cgroup/memory", own: "/sys/fs/cgroup/memory/a/b" },
    pids: { version: 1, root: "/sys/fs/cgroup/pids", own: "/sys/fs/cgroup/pids/" },
  });
  expect(hasAllTrees(trees)).toBe(true);
});

test("finds version 2 controllers in one tree", () => {
  const tree = { version: 2, root: "/sys/fs/cgroup here", own: "/sys/fs/cgroup here/user.slice/x" };
  const trees = findGroupTrees(SECOND, "0::/user.slice/x\n", () => "cpuset cpu io memory pids\n");
  expect(trees).toEqual({ cpu: tree, memory: tree, pids: tree });
});

test("names controllers that the machine does not offer", () => {
  expect(missingControllers(findGroupTrees(SECOND, "0::/\n", () => "cpu\n"))).toEqual(["memory", "pids"]);
});
