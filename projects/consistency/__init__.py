"""Whether the relational database and the table agree, in both directions. Changes nothing."""
