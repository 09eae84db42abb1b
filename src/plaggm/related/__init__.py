"""The related methods of Section 5 of the paper, as estimators like :class:`plaggm.PLAGGM`.

They differ in what they do about the confounder, and each comes with the graphical lasso
(``loss="glasso"``) and with the pseudo-likelihood of this package (``loss="pseudo"``). :class:`MRF` takes
binary and count variables, with covariates that enter linearly.
"""

from plaggm.related.con_ggm import ConGGM
from plaggm.related.ggm import GGM
from plaggm.related.lr_ggm import LRGGM
from plaggm.related.mrf import MRF
from plaggm.related.related_estimator import RelatedEstimator
from plaggm.related.tv_ggm import TVGGM

__all__ = ["GGM", "LRGGM", "MRF", "TVGGM", "ConGGM", "RelatedEstimator"]
