"""Releases: what leaves the house, as a value and as a folder.

In come a released table, the structure it obeys and what was promised; out goes a bundle of a table and
a manifest from which anybody can rebuild the law. Nothing here can name the confidential table.

public_table.py   the released counts over their domain
manifest.py       everything that is said beside the table, as JSON
charges.py        what a release pays, before it is drawn
bundle.py         the value `Release`, its folder, `load`
verify.py         whether a folder is whole and keeps what it says
columns.py        labels and counts as the columns of a file, and back
whole.py, disk.py folders and files that appear whole or not at all
"""
