"""What does Esker cost beside its peers?

One command, `python -m bench`, runs Esker and a peer on the same tables in one run, interleaved, and prints ratios. Nothing here
fails because of a number.
"""
