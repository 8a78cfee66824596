"""What an application file declares: models, columns, types, indexes, pools."""
