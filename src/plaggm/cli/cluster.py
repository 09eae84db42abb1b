"""The options that send a command's work to a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from plaggm.cli.messages import InputError
from plaggm.cli.options import Command, FiniteRange

CONNECT_SECONDS = 10

_tls_file = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler, such as tls://HOST:8786 or tcp://HOST:8786, whose workers do the work in "
        "place of this machine; they must see the same files.",
    ),
    click.option(
        "--tls-ca-file",
        type=_tls_file,
        help="Certificate of the authority that signed the cluster's certificates, in PEM format.",
    ),
    click.option("--tls-cert", type=_tls_file, help="Certificate of this client, in PEM format."),
    click.option("--tls-key", type=_tls_file, help="Private key of this client, in PEM format."),
    click.option(
        "--worker-timeout",
        type=FiniteRange(min=0.0, min_open=True),
        metavar="SECONDS",
        help="Stop when the scheduler has had no worker for this long; by default Dask's setting "
        "plaggm.no-workers-timeout, 60 seconds.",
    ),
)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options about a cluster.

    Attributes
    ----------
    scheduler : str, optional
        Address; without it, the work is done on this machine.
    tls_ca_file, tls_cert, tls_key : Path, optional
        All of them or none; by default those of Dask's configuration.
    worker_timeout : float, optional
        Seconds without a worker after which the command stops; by default those of Dask's configuration.
    """

    scheduler: str | None = None
    tls_ca_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    worker_timeout: float | None = None


def cluster_options(command: Command) -> Command:
    """Give a command the options of :class:`ClusterOptions`, under these names."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def on_cluster(options: ClusterOptions, output: Path) -> Iterator[None]:
    """Send joblib's work to a Dask scheduler, if one is named.

    Parameters
    ----------
    options : ClusterOptions
    output : Path
        Folder in which finished work is stored, for messages.
    """
    scheduler = options.scheduler
    if scheduler is None:
        if options != ClusterOptions():
            raise InputError(
                "--tls-ca-file, --tls-cert, --tls-key and --worker-timeout need --scheduler."
            )
        yield
        return
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise InputError("--scheduler needs Dask: pip install 'plaggm[distributed]'") from error
    import joblib

    from plaggm.selection.cluster import SETTING, ClusterLostError, keeping

    security = _security(options)
    try:
        client = Client(scheduler, set_as_default=False, timeout=CONNECT_SECONDS, **security)
    except (OSError, ValueError, TypeError) as error:
        tls = " that accepts the certificate" if scheduler.startswith("tls://") else ""
        raise InputError(
            f"No Dask scheduler{tls} answers at {scheduler!r}. Give the address that it printed when it "
            "started, such as tcp://10.0.0.1:8786."
        ) from error
    timeout = {} if options.worker_timeout is None else {SETTING: options.worker_timeout}
    kept = f"What was finished is kept in {output}: start workers and run the same command again."
    with client, joblib.parallel_config("dask", client=client), dask.config.set(timeout):
        try:
            with keeping(kept):
                yield
        except ClusterLostError as error:
            raise click.ClickException(str(error)) from error
        except Exception as error:
            if client.status == "running":
                raise
            raise click.ClickException(
                f"The Dask scheduler at {scheduler} was lost. {kept}"
            ) from error


def _security(options: ClusterOptions) -> dict[str, Any]:
    """The client's certificate, as an argument of ``distributed.Client``."""
    from distributed import Security

    files = (options.tls_ca_file, options.tls_cert, options.tls_key)
    if files == (None, None, None):
        return {}
    if None in files:
        raise InputError("TLS needs all of --tls-ca-file, --tls-cert and --tls-key.")
    if not str(options.scheduler).startswith("tls://"):
        raise InputError(
            f"--scheduler {options.scheduler} is not encrypted, and certificates were given: use the "
            "address that starts with tls://."
        )
    authority, certificate, key = map(str, files)
    security = Security(
        require_encryption=True,
        tls_ca_file=authority,
        tls_client_cert=certificate,
        tls_client_key=key,
    )
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{authority}, {certificate} and {key} are not a certificate authority, a certificate and its "
            "private key in PEM format."
        ) from error
    return {"security": security}
