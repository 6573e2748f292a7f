"""docs/layers.svg is drawn from the layer contracts."""

import layers


def test_the_diagram_is_that_of_the_contracts():
    """`python script/layers.py` draws it anew."""
    assert layers.TARGET.read_text(encoding="utf-8") == layers.draw(layers.read_layers())


def test_every_layer_is_in_the_diagram():
    drawn = layers.TARGET.read_text(encoding="utf-8")
    assert all(f">{unit}<" in drawn for row in layers.read_layers() for unit in row)
