"""Fits of tables larger than the memory of one machine, with Dask: ``pip install 'plaggm[distributed]'``.

The spline's statistics are sums over rows. Workers sum the rows of each partition, and only sums are sent
between machines: see :func:`fit_dask`. Many fits of small tables do not need this module:
``joblib.parallel_config("dask")`` sends them to a cluster.
"""

from plaggm.distributed.faults import PartitionError
from plaggm.distributed.fit import fit_dask, sample_design
from plaggm.selection.cluster import ClusterLostError

__all__ = ["ClusterLostError", "PartitionError", "fit_dask", "sample_design"]
