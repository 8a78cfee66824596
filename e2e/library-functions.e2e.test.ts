import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { ensurePythonTools } from "./support/python-tools.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

const FUNCTIONS = `from functools import lru_cache

import appdb as db
from words import ENDING


@db.udf
def summarize(body: str) -> str:
    return body[:3]


@lru_cache
def ended(body: str) -> str:
    return body + ENDING


@db.udf
def shout(body: str) -> str:
    return ended(body).upper()


@shout.overload
def _(n: int) -> str:
    return str(n) + ENDING


@db.uda
class longest(db.Aggregator):
    def __init__(self):
        self.found = ""

    def update(self, text: str):
        self.found = max(self.found, text, key=len)

    def value(self) -> str:
        return self.found
`;
/** A project whose tables come from the library alone. */
const PROGRAM = `import sys

import appdb as db
from functions import ended, longest, shout, summarize

target = sys.argv[1]
docs = db.create_table(f"{target}/docs", {"body": db.String, "n": db.Int})
docs.insert(body="Emma", n=0)
docs.add_computed_column(short=summarize(docs.body))
docs.add_computed_column(share=10 // docs.n, on_error="ignore")
docs.insert(body="Ulysses", n=5)
docs.update({"body": "Persuasion"}, where=docs.n == 5)
print(docs.order_by(docs.n).select(docs.short, docs.share, x=summarize(docs.body)).collect())
print(docs.compute(body="Dracula", n=2), [one["errortype"] for one in docs.errors()])
try:
    docs.select(x=10 // docs.n).collect()
except db.Error as error:
    print(error.code)

# functions that no column calls
calls = {"a": shout(docs.body), "b": shout(docs.n), "c": docs.body.apply(ended, db.String)}
print(docs.where(docs.body != "functions:shout").order_by(docs.n).select(**calls).collect())
print(docs.select(longest=longest(docs.body)).collect()[0])

Base = db.model_base()


@db.udf
def loud(text: str) -> str:
    return text.upper()


class Notes(Base, name="notes"):
    text: db.String


Base.create_all(target)
Notes.insert(text="a")
Base = db.model_base()


class Notes(Base, name="notes"):
    text: db.String
    loud = loud(text)


print([table["resolution"] for table in Base.get_model_diff(target).values()])
Base.update_all(target)
print(Notes.collect())
Base = db.model_base()


class Notes(Base, name="notes"):
    text: db.String
    loud = loud(text)
    must: db.Int


print([table["resolution"] for table in Base.get_model_diff(target).values()])
Base = db.model_base()


class Notes(Base, name="notes"):
    words = db.Column(db.String, renamed_from="text")
    loud = loud(words)


Base.update_all(target)
print(Notes.collect())


@db.udf
def embed(text: str) -> db.Array[(2,), db.Float]:
    return [float(len(text)), 1.0]


docs.add_embedding_index(docs.body, string_embed=embed)
print(docs.order_by(docs.n).select(likeness=docs.body.similarity(string="Anna").round(2)).collect()["likeness"])
`;
const PRINTED = `short  share  x
Emm    None   Emm
Per    2      Per
[{'body': 'Dracula', 'n': 2, 'short': 'Dra', 'share': 5}] ['ZeroDivisionError']
function_failed
a            b   c
EMMA!        0!  Emma!
PERSUASION!  5!  Persuasion!
{'longest': 'Persuasion'}
['update_additive']
text  loud
a     A
['unsupported']
words  loud
a      A
[1.0, 0.99]
`;

/** A module before the database has project files. */
const EARLY = `import appdb as db
from functions import summarize

plain = db.create_table("cloud://acme:main/plain", {"a": db.Int})
news = db.create_table("cloud://acme:main/news", {"body": db.String})
try:
    news.add_computed_column(short=summarize(news.body))
except db.Error as error:
    print(error.code, error.hint)
plain.insert(a=1)
news.insert(body="Emma")
print(plain.count(), news.count())
`;
const EARLY_PRINTED = `project_files_differ Upload them first: cli db update cloud://acme:main
1 1
`;

test("tables of the library call functions of the project and of the program, local and hosted", async () => {
  // the driver of this machine: a sandbox shows workers only some folders
  await using project = await makeProject("", { env: { SERVICE_PODS: "" } });
  const python = join(await ensurePythonTools("library"), "python");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  writeFile(project, "functions.py", FUNCTIONS);
  writeFile(project, "words.py", 'ENDING = "!"\n');
  writeFile(project, "use.py", PROGRAM);
  const run = async (target: string) =>
    (await promisify(execFile)(python, ["use.py", target], { cwd: project.folder, env })).stdout;
  expect(await run("main")).toBe(PRINTED);
  await startWithAcme(project);
  writeFile(project, "early.py", EARLY);
  expect((await promisify(execFile)(python, ["early.py"], { cwd: project.folder, env })).stdout).toBe(EARLY_PRINTED);
  await expectExit(project, 0, "db", "update", "cloud://acme:main", "-f");
  expect(await run("cloud://acme:main")).toBe(PRINTED);
}, 240_000);
