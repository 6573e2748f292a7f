from collections.abc import Iterator

import pytest

from tests.site import Pair, Site, running_site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site") / "data") as site:
        yield site


@pytest.fixture
def pair(site: Site) -> Pair:
    return site.pair()
