"""Lines that files for the most similar system have, one for each name and option: what each of them does here.

Each line works ("works"), or is refused with this code and a hint when it is called. Prints the lines that do otherwise.
"""

import base64
import json
import sys
from pathlib import Path

import appdb as db

TARGET = sys.argv[1]
#: An image of one pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
WORKS, NO_VERSIONS, ELSEWHERE, LATER, OPTION = "works", "app_invalid", "app_invalid", "app_invalid", "invalid_request"
#: In the order of their frequency. `t` is a table, `p` one with media.
LINES = [
    ("t.select(t.k, double=t.n * 2).collect()", WORKS),
    ("db.create_table(f'{d}/made', {'a': db.Int}, if_exists='ignore')", WORKS),
    ("db.create_table(f'{d}/made', {'a': db.Int}, if_exists='replace')", WORKS),
    ("db.create_table(f'{d}/made', {'a': db.Int}, if_exists='replace_force')", WORKS),
    ("db.create_table(f'{d}/from_rows', source=[{'a': 1}])", WORKS),
    ("db.create_table(f'{d}/from_query', source=t.select(t.k, t.s), primary_key=['k'], comment='a copy')", WORKS),
    ("db.create_table(f'{d}/keyed', source=[{'a': 1}], primary_key='a').get_metadata()['primary_key']", WORKS),
    ("db.create_table(f'{d}/of_format', source='a.csv', source_format='csv')", OPTION),
    ("db.create_table(f'{d}/of_types', source=[{'a': 1}], schema_overrides={'a': db.Float})", OPTION),
    ("db.create_table(f'{d}/checked', {'a': db.Image | None}, media_validation='on_read')", WORKS),
    ("t.insert([{'k': 10, 's': 'x'}])", WORKS),
    ("t.insert(k=11, s='y')", WORKS),
    ("t.insert([{'k': 12}], on_error='ignore').num_rows", WORKS),
    ("t.insert([{'k': 13}], return_rows=True).rows[0]['k']", WORKS),
    ("t.add_computed_column(c=t.n + 1)", WORKS),
    ("t.add_computed_column(c=t.n + 2, if_exists='ignore')", WORKS),
    ("t.add_computed_column(c=t.n + 2, if_exists='replace', print_stats=True, comment='more', custom_metadata={})", WORKS),
    ("t.add_computed_column(unstored=t.n, stored=False)", LATER),
    ("t.add_computed_column(elsewhere=t.n, destination='s3://bucket/x')", "app_invalid"),
    ("db.create_dir(f'{d}/inner')", WORKS),
    ("db.create_dir(f'{d}/inner', if_exists='ignore')", WORKS),
    ("db.create_dir(f'{d}/one/two', parents=True)", WORKS),
    ("t.order_by(t.k, t.s, asc=False).limit(1).collect()", WORKS),
    ("db.get_table(f'{d}/t').count()", WORKS),
    ("db.get_table(f'{d}/none', if_not_exists='ignore')", WORKS),
    ("db.get_table(f'{d}/none')", "table_not_found"),
    ("t.limit(1, offset=1).collect()", WORKS),
    ("db.drop_dir(f'{d}/one', force=True)", WORKS),
    ("db.drop_dir(f'{d}/one', force=True, if_not_exists='ignore')", WORKS),
    ("db.drop_dir(f'{d}/one', True, 'ignore')", WORKS),
    ("t.where((t.k > 1) & (t.s != None)).collect()", WORKS),
    ("t.s.similarity('x')", "app_invalid"),
    ("t.s.similarity(string='x')", "app_invalid"),
    ("t.add_embedding_index('v', idx_name='by_v', if_exists='ignore')", WORKS),
    ("t.v.similarity(vector=[1.0, 0.0])", WORKS),
    ("t.order_by(t.v.similarity(vector=[1.0, 0.0], idx='by_v'), asc=False).limit(1).collect()", WORKS),
    ("t.drop_embedding_index(idx_name='by_v')", WORKS),
    ("t.drop_embedding_index(column=t.v, if_not_exists='ignore')", WORKS),
    ("t.add_embedding_index(t.v, metric='ip')", WORKS),
    ("t.drop_index(column='v')", WORKS),
    ("t.add_btree_index('s', idx_name='by_s')", WORKS),
    ("t.drop_index(idx_name='by_s')", WORKS),
    ("db.create_view(f'{d}/some', t.where(t.k > 1))", WORKS),
    ("db.create_view(f'{d}/some', t, if_exists='ignore', additional_columns={'twice': t.k * 2})", WORKS),
    ("db.create_view(f'{d}/still', t, is_snapshot=True)", OPTION),
    ("db.create_snapshot(f'{d}/still', t)", NO_VERSIONS),
    ("db.tools()", LATER),
    ("db.tool", LATER),
    ("db.mcp_udfs('http://localhost/mcp')", LATER),
    ("db.retrieval_udf(t)", LATER),
    ("t.count()", WORKS),
    ("t.head()", WORKS),
    ("t.head(n=1)", WORKS),
    ("t.tail(1)", WORKS),
    ("t.show()", WORKS),
    ("t.show(n=1)", WORKS),
    ("t.select(t.k.astype(db.Float), t.s.isin(['a', 'b'])).collect()", WORKS),
    ("db.drop_table(f'{d}/made')", WORKS),
    ("db.drop_table(f'{d}/made', if_not_exists='ignore')", WORKS),
    ("db.drop_table(f'{d}/made', True, 'ignore')", WORKS),
    ("db.drop_table(db.get_table(f'{d}/from_rows'), force=True)", WORKS),
    ("db.list_tables(d)", WORKS),
    ("db.list_dirs(d, recursive=False)", WORKS),
    ("db.get_dir_contents(d)", WORKS),
    ("db.ls(d)", WORKS),
    ("db.list_functions()", WORKS),
    ("db.init()", WORKS),
    ("db.init({'start_dashboard': True})", "app_invalid"),
    ("db.Required[db.Int]", WORKS),
    ("t.columns()", WORKS),
    ("t.update({'s': 'z'}, where=t.k == 10)", WORKS),
    ("t.update({'s': 'z'}, t.k == 10, True)", WORKS),
    ("t.update({'s': 'z'}, cascade=False)", OPTION),
    ("t.update({'s': 'z'}, return_rows=True)", OPTION),
    ("t.where(t.k == 10).update({'n': t.n + 1}).num_rows", WORKS),
    ("t.batch_update([{'k': 10, 's': 'q'}], if_not_exists='ignore')", WORKS),
    ("t.batch_update([{'k': 10, 's': 'q'}], cascade=False)", OPTION),
    ("t.where(t.k == 11).delete()", WORKS),
    ("t.delete(where=t.k == 12)", WORKS),
    ("t.delete(t.k == 13)", WORKS),
    ("t.add_column(extra=db.Int | None)", WORKS),
    ("t.add_column(extra=db.Int | None, if_exists='ignore')", WORKS),
    ("t.add_columns({'more': db.String | None}, if_exists='ignore')", WORKS),
    ("t.rename_column('extra', 'other')", WORKS),
    ("t.drop_column('other')", WORKS),
    ("t.drop_column(t.more, if_not_exists='ignore')", WORKS),
    ("t.alter_column('n', type_=db.Float | None)", ELSEWHERE),
    ("t.alter_computed_column(c=t.n + 5)", ELSEWHERE),
    ("p.select(p.picture.fileurl, p.picture.localpath).collect()", WORKS),
    ("open(p.select(p.picture.localpath).collect()[0, 'picture'], 'rb').read() == PNG or 1 / 0", WORKS),
    ("t.k.fileurl", "app_invalid"),
    ("t.group_by(t.s).select(t.s, many=count(t.k)).collect()", WORKS),
    ("t.get_metadata()['columns']", WORKS),
    ("t.describe()", WORKS),
    ("t.get_base_table()", WORKS),
    ("t.list_views(recursive=False)", WORKS),
    ("t.history()", WORKS),
    ("t.history(n=2)", WORKS),
    ("t.get_versions()", NO_VERSIONS),
    ("t.revert()", NO_VERSIONS),
    ("db.get_table(f'{d}/t:3')", NO_VERSIONS),
    ("t.sample(n=1, seed=3).collect()", WORKS),
    ("t.sample(fraction=0.5).collect()", WORKS),
    ("t.sample(n_per_stratum=1, stratify_by=t.s)", LATER),
    ("t.where(t.k > 1).sample(fraction=0.5, stratify_by=t.s)", LATER),
    ("t.select(t.s).distinct().collect()", WORKS),
    ("t.select(t.c.errortype, t.c.errormsg).collect()", WORKS),
    ("t.where(t.c.errortype != None).count()", WORKS),
    ("t.to_pytorch_dataset(image_format='pt')", ELSEWHERE),
    ("t.select(t.k).to_pytorch_dataset()", ELSEWHERE),
    ("t.to_coco_dataset()", ELSEWHERE),
    ("t.select(t.k).to_coco_dataset()", ELSEWHERE),
    ("list(t.select(t.k).collect().to_pydantic(dict))", WORKS),
    ("t.compute([{'k': 50, 's': 'a', 'n': 1}]) or 1 / 0", WORKS),
    ("t.compute([{'k': 50, 's': 'a', 'n': 1}], outputs=[t.c, 's'], on_error='ignore')[0].errors", WORKS),
    ("t.recompute_columns('c')", WORKS),
    ("t.recompute_columns(t.c, errors_only=True, cascade=True)", WORKS),
    ("t.recompute_columns(t.c, where=t.k == 1)", OPTION),
    ("t.where(t.k == 1).recompute_columns('c')", OPTION),
    ("t.join(o, on=t.k == o.k).select(t.s, o.k).collect()", WORKS),
    ("t.join(o, on=t.k, how='left').collect()", WORKS),
    ("db.move(f'{d}/from_query', f'{d}/moved')", WORKS),
    ("db.move(f'{d}/none', f'{d}/moved', if_not_exists='ignore')", WORKS),
    ("db.move(f'{d}/t', f'{d}/moved', if_exists='ignore')", WORKS),
    ("t.publish('a')", ELSEWHERE),
    ("db.replicate('a', 'b')", "app_invalid"),
    ("t.link_external_store(None)", ELSEWHERE),
    ("t.cursor().close()", WORKS),
    ("len(t.collect()), t.collect()['k'], t.collect()[0, 'k'], t.collect().schema", WORKS),
    ("[row for row in t.collect()]", WORKS),
]


def main():
    db.create_dir(TARGET, if_exists="ignore")
    t = db.create_table(
        f"{TARGET}/t",
        {"k": db.Required[db.Int], "s": db.String | None, "n": db.Int | None, "v": db.Array[(2,), db.Float] | None},
        primary_key="k",
    )
    t.insert([{"k": k, "s": "ab"[k % 2], "n": k, "v": [k, 1]} for k in range(4)])
    p = db.create_table(f"{TARGET}/p", {"picture": db.Image | None})
    Path("dot.png").write_bytes(PNG)
    p.insert(picture="dot.png")
    o = db.create_table(f"{TARGET}/o", {"k": db.Int})
    from appdb.functions import count

    space = {"db": db, "t": t, "p": p, "o": o, "d": TARGET, "count": count, "PNG": PNG}
    found = []
    for line, expected in LINES:
        outcome = run(line, space)
        if outcome != expected:
            found.append({"line": line, "expected": expected, "outcome": outcome})
    print(json.dumps({"lines": len(LINES), "others": found}), file=sys.stderr)


def run(line, space):
    try:
        eval(line, space)
    except db.Error as error:
        return error.code if error.hint else f"{error.code} without a hint: {error.detail}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return WORKS


main()
