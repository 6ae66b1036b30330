"""Where people write kernels: each pair of Python and torch, and what Colab and Kaggle have, tried with a wheel.

environments    which there are, and which of them CI tries in turn
walk            the cells that must work in each, run by its own Python
requirements/   what is installed there before lltm_inline comes
__main__        makes the environments, runs the cells and writes docs/platforms.md: `make matrix`
"""
