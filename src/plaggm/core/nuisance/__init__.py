"""How strongly the spline's nuisance is penalised: its prior, and how much of it is used.

:mod:`plaggm.core.nuisance.focused` makes the choice.
"""
