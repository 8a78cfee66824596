import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess } from "@appdb/system/processes/process-identity";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { GATEWAY_LOCK } from "./control-socket.ts";
import { adoptGateway } from "./start-gateway.ts";

const LATE_MS = 300;

test("adopts a gateway that answers late, as on a busy machine", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-"));
  const [locks, socket] = [join(folder, "locks"), join(folder, "socket")];
  // a stand-in holds the lock, and this test answers for it
  const { kill, pid = 0 } = spawnStandIn();
  const server = createServer((_request, answer) => {
    answer.end(JSON.stringify({ pid, digest: "same", problems: [] }));
  });
  try {
    mkdirSync(locks);
    writeFileSync(join(locks, `${GATEWAY_LOCK}1`), JSON.stringify(identifyProcess(pid)));
    const adopted = adoptGateway({ locks, socket, digest: "same", may_end: true, log: createSilentLog() });
    await sleep(LATE_MS);
    server.listen(socket);
    expect((await adopted)?.process?.pid).toBe(pid);
  } finally {
    server.close();
    kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

function spawnStandIn() {
  const child = spawn("/bin/sleep", ["20"], { stdio: "ignore" });
  return { pid: child.pid, kill: () => child.kill("SIGKILL") };
}
