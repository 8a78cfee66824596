import { expect, test } from "vitest";
import { Admission } from "./admission.ts";

const ONE_AT_A_TIME = () => new Admission(1, 10, "requests");
const never = new AbortController().signal;

test("a request that was cancelled takes no slot", async () => {
  const admission = ONE_AT_A_TIME();
  const gone = AbortSignal.abort(new Error("gone"));
  const work = async () => "done";
  await expect(admission.run(gone, work)).rejects.toThrow("gone");
  let end = () => {};
  const running = admission.run(
    never,
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  await expect(admission.run(gone, work)).rejects.toThrow("gone");
  const leaving = new AbortController();
  const waiting = admission.run(leaving.signal, work);
  const next = admission.run(never, work);
  leaving.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  end();
  await running;
  expect(await next).toBe("done");
});
