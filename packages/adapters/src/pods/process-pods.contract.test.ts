import { testPods } from "@appdb/testkit/contracts/pod-driver";

testPods({
  name: "process",
  module: "@appdb/adapters/pods/process-pods",
  factory: "createProcessPods",
  ends_bare_daemons: false,
  bounds_memory: false,
  bounds_tasks: false,
});
