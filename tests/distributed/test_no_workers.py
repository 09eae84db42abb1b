"""A cluster without workers, which only who holds its certificates may ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import joblib
import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("cryptography")

import click
from click.testing import CliRunner

from plaggm import PLAGGM, PLAGGMCV
from plaggm.cli import cluster as cluster_module
from plaggm.cli.cluster import ClusterOptions, on_cluster
from plaggm.cli.group import commands
from plaggm.cli.messages import InputError
from plaggm.distributed import ClusterLostError, fit_dask
from plaggm.selection.cluster import SETTING, no_workers_timeout, results_as_finished
from plaggm.selection.parallel import concurrent_jobs, in_turn

pytestmark = pytest.mark.distributed

# How long the commands here wait for a scheduler that answers; one that refuses does so at once.
PATIENCE = 300


@pytest.fixture(scope="module")
def security() -> Any:
    return distributed.Security.temporary()


@pytest.fixture(scope="module")
def client(security: Any) -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=0,
            processes=False,
            host="127.0.0.1",
            protocol="tls://",
            dashboard_address="127.0.0.1:0",
            security=security,
        ) as cluster,
        distributed.Client(
            cluster, set_as_default=False, security=security, timeout=PATIENCE
        ) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", PATIENCE)
    with dask.config.set({SETTING: "200ms"}):
        yield


def options(client: Any, security: Any, folder: Path) -> ClusterOptions:
    """The cluster's address and files with its certificates."""
    parts = {
        "ca": security.tls_ca_file,
        "cert": security.tls_client_cert,
        "key": security.tls_client_key,
    }
    for name, text in parts.items():
        (folder / f"{name}.pem").write_text(text)
    return ClusterOptions(
        client.scheduler.address, *(folder / f"{name}.pem" for name in parts), worker_timeout=0.1
    )


class TestNoWorkers:
    def test_pieces_of_work(self, client: Any) -> None:
        with joblib.parallel_config("dask", client=client):
            assert concurrent_jobs(-1) == 1
            work = in_turn(None)(joblib.delayed(abs)(number) for number in range(3))
            with pytest.raises(ClusterLostError, match=r"no worker for 0.2 seconds.*run the same"):
                next(work)

    def test_selection(self, client: Any) -> None:
        x = np.random.default_rng(0).standard_normal((60, 3))
        with (
            joblib.parallel_config("dask", client=client),
            pytest.raises(ClusterLostError, match=SETTING),
        ):
            PLAGGMCV(cv=3, alphas=4, n_jobs=-1).fit(x)

    def test_partitions(self, client: Any) -> None:
        x = da.ones((60, 3), chunks=(20, 3))
        with (
            dask.config.set(scheduler=client),
            pytest.raises(ClusterLostError, match="Nothing was summed yet"),
        ):
            fit_dask(PLAGGM(0.1), x)

    def test_closed_client(self, client: Any, security: Any) -> None:
        with distributed.Client(
            client.scheduler.address, set_as_default=False, security=security, timeout=PATIENCE
        ) as other:
            futures = [other.submit(abs, -1)]
        with pytest.raises(ClusterLostError, match="connection to the Dask scheduler was lost"):
            next(results_as_finished(other, futures))


@pytest.mark.parametrize("given", ["soon", 0, -1, None, "inf"])
def test_wrong_timeout(given: Any) -> None:
    with dask.config.set({SETTING: given}), pytest.raises(ValueError, match=SETTING):
        no_workers_timeout()


class TestTLS:
    def test_command_says_what_is_kept(self, client: Any, security: Any, tmp_path: Path) -> None:
        with (
            pytest.raises(click.ClickException, match=r"no worker for 0.1 .*kept in out.*again"),
            on_cluster(options(client, security, tmp_path), Path("out")),
        ):
            list(in_turn(None)(joblib.delayed(abs)(number) for number in range(3)))

    def test_command_whose_client_is_closed(
        self, client: Any, security: Any, tmp_path: Path
    ) -> None:
        def lose_client() -> None:
            from joblib.parallel import get_active_backend

            get_active_backend()[0].client.close()
            list(in_turn(None)(joblib.delayed(abs)(number) for number in range(3)))

        with (
            pytest.raises(click.ClickException, match=r"was lost.*kept in out.*again"),
            on_cluster(options(client, security, tmp_path), Path("out")),
        ):
            lose_client()

    def test_foreign_certificate(self, client: Any, tmp_path: Path) -> None:
        foreign = options(client, distributed.Security.temporary(), tmp_path)
        with (
            pytest.raises(InputError, match="that accepts the certificate"),
            on_cluster(foreign, tmp_path),
        ):
            pass

    def test_no_certificate(self, client: Any, tmp_path: Path) -> None:
        with (
            pytest.raises(InputError, match="that accepts the certificate"),
            on_cluster(ClusterOptions(client.scheduler.address), tmp_path),
        ):
            pass

    def test_no_pem_file(self, client: Any, security: Any, tmp_path: Path) -> None:
        known = options(client, security, tmp_path)
        (tmp_path / "key.pem").write_text("hello")
        with pytest.raises(InputError, match=r"key.pem are not"), on_cluster(known, tmp_path):
            pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tls-cert", "FILE"], "need --scheduler"),
        (["--worker-timeout", "5"], "need --scheduler"),
        (["--scheduler", "tls://127.0.0.1:9", "--tls-cert", "FILE"], "needs all of"),
        (
            ["--scheduler", "tcp://127.0.0.1:9"]
            + [word for name in ("ca-file", "cert", "key") for word in (f"--tls-{name}", "FILE")],
            "is not encrypted",
        ),
    ],
)
def test_options_that_do_not_fit(arguments: list[str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "participants.tsv"
    file.touch()
    given = [str(file) if word == "FILE" else word for word in arguments]
    columns = ["--group", "diagnosis", "--confounder", "fd"]
    done = CliRunner().invoke(commands, ["study", str(file), *columns, *given])
    assert done.exit_code == 2
    assert message in done.output
