import { eventually } from "@appdb/testkit/eventually";
import { expect, test, vi } from "vitest";
import { collectHourly } from "./collect-hourly.ts";

function refusing() {
  let refuse: (cause: Error) => void = () => undefined;
  const promise = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  return { log, fail: () => refuse(new Error("the pool has ended")), endpoints: { collect: () => promise } };
}

test("logs a failed collection", async () => {
  const { log, fail, endpoints } = refusing();
  using _collecting = collectHourly(endpoints, log);
  fail();
  await eventually(() => expect(log.warn).toHaveBeenCalledOnce());
});

test("does not warn when the service's end interrupts a collection", async () => {
  const { log, fail, endpoints } = refusing();
  collectHourly(endpoints, log)[Symbol.dispose]();
  fail();
  await eventually(() => expect(log.debug).toHaveBeenCalledOnce());
  expect(log.warn).not.toHaveBeenCalled();
});
