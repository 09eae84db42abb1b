"""Seeded cases of hostile input, run by ``make fuzz``.

A case is one call of the library or of the command line with input that a program, a careless or an
unfriendly person may hand over. What counts as a finding is a fixed list:

- an exception that is not one of the documented kinds: a ``ValueError`` or ``TypeError`` that plaggm (or
  scikit-learn's validation of parameters and arrays) raises on purpose, or what the operating system says
  about a path; for commands anything but exit status 0, or 2 with one line of reason;
- a message that quotes Python internals, or says next to nothing, and NumPy's own arithmetic warnings;
- a case that does not end within its time limit, or ends its process;
- an impossible result: NaN or infinity, a partial correlation beyond one, an asymmetric matrix,
  a stability outside [0, 1], a scale that is not positive, a reading that differs from what was saved;
- files left behind by a call that failed, or temporary files left behind by any call.

Cases depend on nothing but the seed, the name of their area and their number.
"""
