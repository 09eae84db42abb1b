"""A parameter and a method of one name: ``PLAGGMCV(edges="fdr")`` and ``model.edges()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ParameterAndMethod:
    """Descriptor that stores a parameter and returns a method.

    The value that the constructor assigns is stored in the instance's dictionary, where ``get_params`` of
    the owner finds it; reading the attribute returns the method.

    Parameters
    ----------
    method : callable
        Function of the instance.

    Examples
    --------
    >>> class Owner:
    ...     size = ParameterAndMethod(lambda self: len(self.__dict__["size"]))
    ...
    ...     def __init__(self, size):
    ...         self.size = size
    >>> owner = Owner("abc")
    >>> owner.size(), vars(owner)
    (3, {'size': 'abc'})
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self.method if instance is None else self.method.__get__(instance, owner)

    def __set__(self, instance: object, value: object) -> None:
        instance.__dict__[self.name] = value
