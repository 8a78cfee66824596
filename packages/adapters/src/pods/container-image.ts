import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { askEngine, demandEngine, type Engine } from "./engine-client.ts";

/** Of what the image holds: another number when that changes. */
const REPOSITORY = "localhost/appdb-pod";
const TAG = "2";
/** Where the engine puts what it has for each container; everything else is mounted. */
const FOLDERS = ["dev", "etc", "proc", "run", "sys", "tmp", "var"];

/**
 * Makes the image that all pods run in, once, and gives its name: a handful of empty folders, since programs and libraries are
 * the machine's own, mounted read-only. No registry is asked.
 * @throws pod_failed
 */
export async function ensureBaseImage({ docker }: Engine): Promise<string> {
  const name = `${REPOSITORY}:${TAG}`;
  const found = await askEngine("look for the image of pods", docker.getImage(name).inspect());
  if (found !== undefined) return found.Id;
  const folder = mkdtempSync(join(tmpdir(), "pod-image-"));
  try {
    for (const path of FOLDERS) {
      mkdirSync(join(folder, path));
      // Podman gives what it mounts there the mode that the folder has here, whatever it is told
      chmodSync(join(folder, path), path === "tmp" ? 0o1777 : 0o755);
    }
    const { create } = await import("tar");
    const archive = create({ cwd: folder }, FOLDERS).pipe(new PassThrough());
    const answer = await demandEngine("make the image of pods", docker.importImage(archive));
    let text = "";
    for await (const piece of answer) text += String(piece);
    // Docker tells the id as `status`, Podman as `id` too, and neither names the image as it was asked to in all versions
    const id = /"(?:id|status)":\s*"(sha256:[0-9a-f]{64})/.exec(text)?.[1];
    if (id === undefined)
      throw appError("pod_failed", { detail: `The container engine made no image: ${text.trim()}` });
    await demandEngine("name the image of pods", docker.getImage(id).tag({ repo: REPOSITORY, tag: TAG }));
    return id;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
