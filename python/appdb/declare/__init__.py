"""The declarations of an application file: models, columns, types, indexes, pools."""
