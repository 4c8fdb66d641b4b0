"""What can keep a case from being measured?"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Absent(Exception):
    """What a case needs is not on this machine."""


class Failed(Exception):
    """A side did not answer, or the sides answered differently."""
