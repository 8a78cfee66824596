"""Array: NumPy arrays, or nested lists, of one dtype."""

from appdb.kinds._base import ColumnType, Rules, parametrised


class Array(ColumnType):
    kind = "array"

    def __class_getitem__(cls, item):
        from appdb.declare.array_type import array_type

        return parametrised(cls, array_type(item))


def _display(type):
    from appdb.declare.array_type import display_array

    return display_array(type)


def _encoder(type):
    from appdb.expressions.arrays import array_encoder

    return array_encoder(type)


def _decoder(type):
    from appdb.expressions.arrays import array_decoder

    return array_decoder(type)


def _to_literal(stored, type):
    from appdb.expressions.arrays import array_json

    return array_json(type, stored)


def _from_literal(literal, type):
    import json

    return _encoder(type)(json.loads(literal))


RULES = Rules(
    python="an array (numpy.ndarray, or nested lists)",
    hints=(),  # numpy_hint() of declare/array_type.py handles them.
    display=_display,
    lacks=("an Array without a dtype.", "Write db.Array[(768,), db.Float], or db.Array[db.Float] for any shape."),
    encoder=_encoder,
    decoder=_decoder,
    from_wire=None,
    to_literal=_to_literal,
    from_literal=_from_literal,
    is_shared=False,  # A function may change it.
    printed=lambda value, literal: literal,
    casts={},
    is_ordered=False,
    is_key=False,
    is_indexed=False,
    is_embedded=True,
    is_zoned=False,
    is_text_in_json=False,
    column=None,
    json_schema=None,
    instead=None,
    check=None,
    is_written=lambda value, texts: True,
)
