import { useSandbox } from "@appdb/testkit/sandbox";
import { expect, test } from "vitest";
import { signInCommand, startHosted } from "./support/hosted.ts";
import { openPost } from "./support/post-office.ts";
import { makeProject } from "./support/served.ts";

/** A function that keeps large files in a socket: they are in no folder and in no process. Applications with media may make files. */
const APP = `import os
import socket
import time
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()
SCRATCH = os.environ.get("APPDB_SCRATCH", "")


@db.udf(timeout=150)
def hide(megabytes: int) -> str:
    pair = socket.socketpair()
    for at in range(megabytes):
        with open(os.path.join(SCRATCH, str(at)), "wb") as made:
            os.unlink(made.name)
            made.write(bytes(1 << 20))
            socket.send_fds(pair[0], [b"x"], [made.fileno()])
    time.sleep(140)
    return "held"


class Letter(Base, name="letters"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.Document


class Hidden(Base, name="hidden"):
    id = db.Column(value=uuid7(), primary_key=True)
    megabytes: db.Int
    held = db.Column(value=hide(megabytes))


post = Router(name="post")
post.add_insert_route(Letter, path="/letters", uploadfile_inputs=[Letter.text])
post.add_insert_route(Hidden, path="/hidden")
`;

// no driver is configured: a machine that supports sandboxes uses them
if ((await useSandbox()) !== undefined) {
  test("a pod ends code that keeps large files where no folder shows them", { timeout: 300_000 }, async () => {
    await using project = await makeProject(APP, { env: { SERVICE_PODS: "" } });
    const hosted = await startHosted(project);
    await hosted.setUp("ann@example.com");
    await signInCommand(project, hosted);
    const acme = await openPost(project, hosted.url, "acme");
    // it takes a minute when others free space meanwhile
    const hidden = await acme.insert("/hidden", { megabytes: 280 });
    expect(hidden).toMatchObject({ status: 400, json: { code: "worker_died" } });
    expect(await acme.insert("/hidden", { megabytes: "x" })).toMatchObject({ status: 422 });
  });
}
