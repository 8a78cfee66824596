import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const TABLES = 50;
const MODULES = 8;
const FUNCTIONS_PER_MODULE = 25;
const FUNCTIONS_PER_TABLE = (MODULES * FUNCTIONS_PER_MODULE) / TABLES;
const SERVICES = 5;

/**
 * Writes an application of 50 tables with 12 columns, 200 functions in 8 modules, 100 indexes, and 5 services with 20
 * routes.
 */
export async function writeBigApp(folder: string): Promise<void> {
  await mkdir(join(folder, "functions"), { recursive: true });
  for (let module = 0; module < MODULES; module += 1) {
    await writeFile(join(folder, "functions", `part_${module}.py`), moduleText(module));
  }
  await writeFile(join(folder, "functions", "__init__.py"), "");
  await writeFile(join(folder, "app.py"), appText());
}

function moduleText(module: number): string {
  const functions = count(FUNCTIONS_PER_MODULE).map((n) => {
    const name = functionName(module * FUNCTIONS_PER_MODULE + n);
    return `
@db.udf
def ${name}(text: str, size: int | None, factor: float = ${n}.5) -> str:
    """Says in words what a text and a size come to."""
    words = [word.strip(".,;") for word in text.split() if len(word) > ${n % 5}]
    if size is None or size < 0:
        return " ".join(words)
    total = 0
    for position, word in enumerate(words):
        if position % 2 == 0:
            total += len(word) * factor
        else:
            total -= size
    return f"{total:.2f} " + " ".join(reversed(words[:size]))
`;
  });
  return `"""Functions of part ${module}."""\n\nimport appdb as db\n${functions.join("\n")}`;
}

function appText(): string {
  const imports = count(MODULES).map((module) => {
    const names = count(FUNCTIONS_PER_MODULE).map((n) => functionName(module * FUNCTIONS_PER_MODULE + n));
    return `from functions.part_${module} import (\n${names.map((name) => `    ${name},\n`).join("")})`;
  });
  return `"""Tables of a large application."""

import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

${imports.join("\n")}

Base = db.model_base()
${count(TABLES).map(tableText).join("")}
${count(SERVICES).map(serviceText).join("\n")}
`;
}

function tableText(table: number): string {
  const computed = count(FUNCTIONS_PER_TABLE).map((n) => {
    const name = functionName(table * FUNCTIONS_PER_TABLE + n);
    return `    made_${n} = ${name}(${n % 2 === 0 ? "title" : "loud"}, size, factor=price * ${n + 1} + 0.5)\n`;
  });
  return `

class Table${table}(Base, name="table_${table}"):
    """Rows of kind ${table}."""

    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String | None
    size: db.Int | None
    price: db.Float
    at: db.Timestamp
    loud = upper(title)
    worth = price * 2 + 1
${computed.join("")}
    __indexes__ = [db.BtreeIndex(title), db.BtreeIndex(at)]
`;
}

function serviceText(service: number): string {
  const tables = count(TABLES).filter((table) => table % SERVICES === service);
  const routes = tables.map((table) => {
    const model = `Table${table}`;
    const inputs = `inputs=[${["title", "size", "price", "at"].map((name) => `${model}.${name}`).join(", ")}]`;
    const outputs = `outputs=[${model}.id, ${model}.loud, ${model}.made_0]`;
    const computed = `outputs=[${model}.loud, ${model}.made_0]`;
    return `service_${service}.add_insert_route(${model}, path="/table_${table}", ${inputs}, ${outputs})
service_${service}.add_compute_route(${model}, path="/compute_${table}", ${inputs}, ${computed})
`;
  });
  return `\nservice_${service} = Router()\n${routes.join("")}`;
}

function functionName(n: number): string {
  return `words_${n}`;
}

function count(n: number): number[] {
  return Array.from({ length: n }, (_, at) => at);
}
