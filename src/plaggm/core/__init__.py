"""The numerical core: plain arrays in, small frozen dataclasses out.

Nothing here knows about pandas, scikit-learn, plots or files.
"""
