"""Routes that take and give files: `uploadfile_inputs=` and `return_fileresponse=`. Raises AppFileError."""

from appdb.declare.errors import AppFileError, listed
from appdb.kinds import DISPLAY, rules


def uploads_of(kind, table, inputs, uploads):
    """The names of the columns of `uploadfile_inputs=`, in their order."""
    from appdb.routes._rows import names_of

    if "uploadfile_inputs" not in kind.option_names:
        raise AppFileError(
            f"add_{kind.kind}_route has no option 'uploadfile_inputs'.",
            "Insert, update, compute and query routes take uploads.",
        )
    names = names_of("uploadfile_inputs", table, uploads)
    for name in names:
        column = table.columns[name]
        if not is_media(column):
            raise AppFileError(
                f"uploadfile_inputs= names '{name}', which is {DISPLAY[column.ref._kind]}.",
                "Name columns of the types Image, Video, Audio and Document.",
            )
        if column.value is not None:
            raise AppFileError(
                f"uploadfile_inputs= names '{name}', which is computed.", f"Take '{name}' out of uploadfile_inputs."
            )
    _refuse_both([] if inputs is None else names_of("inputs", table, inputs), names)
    return names


def query_uploads_of(query, inputs, uploads, verb):
    """The names of the parameters of `uploadfile_inputs=`, in their order."""
    from appdb.routes.query import parameters_of

    names = parameters_of("uploadfile_inputs", query, uploads)
    kinds = {parameter.name: parameter.kind for parameter in query.parameters}
    for name in names:
        if rules(kinds[name]).check is None:
            raise AppFileError(
                f"uploadfile_inputs= names '{name}', which is {DISPLAY[kinds[name]]}.",
                f"Declare the parameter as {name}: db.Image, db.Video, db.Audio or db.Document.",
            )
    if verb == "get":
        raise AppFileError(
            "uploadfile_inputs= needs a request with a body, and the route has method=\"get\".", 'Write method="post"'
        )
    _refuse_both([] if inputs is None else parameters_of("inputs", query, inputs), names)
    return names


def checked_file_response(table, outputs, wanted, answerer, background):
    """Whether a route over a model answers with the file of its only media output."""
    _check_flag(wanted)
    if not wanted:
        return False
    if answerer is not None:
        raise AppFileError(
            "return_fileresponse= is not for decorated functions, which make the response.", "Leave it out."
        )
    media = [name for name in outputs if is_media(table.columns[name])]
    if len(outputs) != 1 or len(media) != 1:
        raise AppFileError(
            f"return_fileresponse= needs exactly one output, a media column; the outputs are {listed(outputs)}.",
            _one_output(table, media or _media_of(table)),
        )
    _refuse_background(background)
    return True


def checked_query_file(query, wanted, background):
    """Whether a query route answers with the file of the only selected value."""
    _check_flag(wanted)
    if not wanted:
        return False
    selected = query.selected_kinds
    if len(selected) != 1 or rules(selected[0]).check is None:
        raise AppFileError(
            f"return_fileresponse= needs a query of exactly one value, a media column; {query.__name__} has "
            f"{listed([DISPLAY[kind] for kind in selected])}.",
            _one_value(query),
        )
    _refuse_background(background)
    return True


def is_media(column):
    """Whether a declared column holds media."""
    return rules(column.ref._kind).check is not None


def _media_of(table):
    return [name for name, column in table.columns.items() if is_media(column)]


def _one_value(query):
    for model in query.query._models:
        for name in _media_of(model.__appdb_table__):
            return f"Write select({model.__name__}.{name}) in the query."
    return f"{query.__name__} reads no media column; leave return_fileresponse= out."


def _one_output(table, media):
    if not media:
        return f"{table.model} has no media column; leave return_fileresponse= out."
    return f"Write outputs=[{table.model}.{media[0]}]"


def _refuse_both(inputs, uploads):
    both = [name for name in inputs if name in uploads]
    if both:
        raise AppFileError(f"inputs= and uploadfile_inputs= both name {listed(both)}.", "Name each of them once.")


def _check_flag(wanted):
    if wanted not in (True, False, None):
        raise AppFileError(f"return_fileresponse= is True or False, not {wanted!r}.", "Write return_fileresponse=True")


def _refuse_background(background):
    if background is not None:
        raise AppFileError(
            "return_fileresponse= and background= do not go together: the response is the job, which ends later.",
            "Leave return_fileresponse= out: the job's result has the address of the file.",
        )
