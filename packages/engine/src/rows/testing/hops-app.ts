import type { ValueSpec } from "./value-specs.ts";

/** Python prints every bit of a value as text. plain-values.ts makes the same text from the sent value. */
const FUNCTIONS = `
import struct
from datetime import date, datetime, timedelta, timezone
from uuid import UUID

import appdb as db

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def show(value):
    if value is None:
        return "n"
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, str):
        return "s" + value.encode().hex()
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "f" + struct.pack(">d", value).hex()
    if isinstance(value, datetime):
        assert value.tzinfo is timezone.utc
        return f"t{(value - EPOCH) // timedelta(microseconds=1)}"
    if isinstance(value, date):
        return f"d{value.toordinal()}"
    if isinstance(value, UUID):
        return "u" + value.hex
    if isinstance(value, bytes):
        return "y" + value.hex()
    if isinstance(value, list):
        return "[" + ",".join(map(show, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{show(key)}:{show(item)}" for key, item in value.items()) + "}"
    assert type(value).__name__ == "ndarray" and value.flags.writeable and value.flags.c_contiguous
    dtype = "string" if value.dtype.kind == "U" else value.dtype.name
    return f"a{dtype}({','.join(map(str, value.shape))})" + show(value.tolist())
`;

/** A module with two functions for each type: one describes its argument, one returns it. */
export function functionsModule(specs: readonly ValueSpec[]): string {
  const functions = specs.map((spec) => {
    const type = spec.hint ?? spec.annotation;
    return `
@db.udf
def show_${spec.name}(v: ${type}) -> str:
    return show(v)

@db.udf
def same_${spec.name}(v: ${type}) -> ${spec.annotation}:
    return v
`;
  });
  return FUNCTIONS + functions.join("\n");
}

/** A table with a column of each type, and columns that functions compute from them. `is_later`: with columns that
 *  read stored values. */
export function appFile(specs: readonly ValueSpec[], options: { readonly is_later: boolean }): string {
  const lines = specs.flatMap(({ name, annotation }) => [
    `    v_${name}: ${annotation} | None`,
    `    saw_${name} = functions.show_${name}(v_${name})`,
    `    back_${name} = functions.same_${name}(v_${name})`,
    `    again_${name} = functions.show_${name}(back_${name})`,
    ...(options.is_later
      ? [
          `    later_${name} = functions.show_${name}(v_${name})`,
          `    copy_${name} = functions.same_${name}(back_${name})`,
        ]
      : []),
  ]);
  return `
import appdb as db
import functions
from appdb.serving import Router

Base = db.model_base()


class Values(Base, name="values"):
    n = db.Column(type=db.Int, primary_key=True)
${lines.join("\n")}


api = Router(name="api")
api.add_insert_route(Values, path="/values")
`;
}
